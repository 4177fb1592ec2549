//! Responses through gateways on links that lose. BENTPIPE_RESPONSES says how many cross each of them,
//! where that shall be more than a few.

mod gateways;
mod links;

use std::sync::Arc;

use bentpipe_testkit::pattern;
use bentpipe_units::Span;
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::task::JoinSet;

use gateways::fetching::{Ended, LARGEST, fetch, files, said, settle, size};
use gateways::{OPEN, Site, free};
use links::Link;

/// Requests at the same time.
const AT_ONCE: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_response_arrives_whole_whatever_is_lost() {
    let content = pattern(LARGEST as usize);
    let to = files(content.clone()).await;
    let count: u64 = said("BENTPIPE_RESPONSES", 60);
    for loss in [0.0, 0.01, 0.05] {
        let [listen] = free().await;
        let site = Arc::new(Site::new(&to.to_string(), Some(listen), ["", OPEN]).await);
        let _link = Link::new(listen, site.udp, 200, Span::from_millis(5), loss);
        let (hub, terminal) = (site.hub(), site.terminal());
        let mut requests = JoinSet::new();
        for seed in 0..count {
            if requests.len() >= AT_ONCE {
                let ended = requests.join_next().await.expect("one");
                assert_eq!(ended.expect("no panic"), Ended::Whole, "{loss}");
            }
            let (content, forward) = (content.clone(), site.forward);
            let size = size(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
            requests.spawn(async move { fetch(forward, size, &content).await });
        }
        while let Some(ended) = requests.join_next().await {
            assert_eq!(ended.expect("no panic"), Ended::Whole, "{loss}");
        }
        settle([&hub, &terminal]).await;
        println!("{count} responses whole with losses of {loss}");
    }
}
