//! A constellation as time goes by: where its satellites are when the page asks, and how the route between two places goes on.

mod asked;
mod course;
mod files;
mod frames;
mod told;

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;

pub(crate) use self::asked::{Asked, Wanted};
pub(crate) use self::files::file;
use self::frames::frame;
use self::told::{Part, Told};
use crate::answer::Wrong;
use crate::state::Shared;
use crate::talk::{Gone, Talk, read};

/// Parts of a course that wait for the page.
const WAITING: usize = 4;

/// Shows a sky until the page is gone.
pub(crate) async fn session(mut talk: Talk, state: Shared) -> Result<(), Gone> {
    let asked: Asked = talk.asked().await?;
    let place = match state.places().take(Instant::now()) {
        // It is held by the page and by the thread: whichever is there longer.
        Ok(place) => Arc::new(place),
        Err(why) => return talk.refuse(Wrong::plain(why)).await,
    };
    let building = {
        let asked = asked.clone();
        tokio::task::spawn_blocking(move || asked.network())
    };
    let network = match building.await {
        Ok(Ok(network)) => network,
        Ok(Err(wrong)) => return talk.refuse(wrong).await,
        Err(_) => {
            return talk.refuse(Wrong::plain("this sky cannot be built; please report it")).await;
        }
    };
    talk.say(&Told::Sky(told::Sky::of(&asked, &network))).await?;
    let constellation = Arc::new(network.constellation().clone());
    let (told, mut parts) = mpsc::channel::<Result<Part, Wrong>>(WAITING);
    let of_thread = Arc::clone(&place);
    tokio::task::spawn_blocking(move || {
        course::follow(&asked, network, &told);
        drop(of_thread);
    });
    loop {
        tokio::select! {
            said = talk.hear() => {
                let wanted: Wanted = match read(&said?) {
                    Ok(wanted) => wanted,
                    Err(wrong) => return talk.refuse(wrong).await,
                };
                for at in wanted.times() {
                    let constellation = constellation.clone();
                    let making = tokio::task::spawn_blocking(move || frame(&constellation, at));
                    match making.await {
                        Ok(Ok(frame)) => talk.show(frame).await?,
                        Ok(Err(error)) => talk.refuse(Wrong::plain(error.to_string())).await?,
                        Err(_) => return Err(Gone),
                    }
                }
            }
            Some(part) = parts.recv() => match part {
                Ok(part) => talk.say(&Told::Course(part)).await?,
                Err(wrong) => talk.refuse(wrong).await?,
            },
        }
    }
}
