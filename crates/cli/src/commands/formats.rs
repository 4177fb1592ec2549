//! The files that people write: their schemas, manual pages and lists of keys.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::Value;

use crate::args::Format;
use crate::failure::Failure;
use crate::output::keys::manual::{Page, render};
use crate::output::keys::{markdown, sections};

/// Prints the schema of a kind of file, or its keys as a page of Markdown.
pub(super) fn schema(format: Format, as_markdown: bool) -> Result<(), Failure> {
    let schema = schema_of(format)?;
    let mut out = anstream::stdout();
    if as_markdown {
        let title = match format {
            #[cfg(feature = "sim")]
            Format::Scenario => "Keys of scenario files",
            #[cfg(feature = "gateway")]
            Format::Gateway => "Keys of gateway files",
        };
        return Ok(out.write_all(markdown::render(title, &sections(&schema)).as_bytes())?);
    }
    serde_json::to_writer_pretty(&mut out, &schema).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

/// Writes the manual pages of all kinds of files into a folder.
pub(super) fn manuals(folder: &Path) -> Result<(), Failure> {
    for format in Format::ALL {
        let (page, schema) = (page(*format), schema_of(*format)?);
        let path = folder.join(format!("{}.5", page.name));
        fs::write(&path, render(&page, &sections(&schema)))
            .map_err(|error| Failure::writing(&path, error))?;
    }
    Ok(())
}

fn schema_of(format: Format) -> Result<Value, Failure> {
    let schema = match format {
        #[cfg(feature = "sim")]
        Format::Scenario => serde_json::to_value(bentpipe_scenario::schema()),
        #[cfg(feature = "gateway")]
        Format::Gateway => serde_json::to_value(bentpipe_gateway::schema()),
    };
    Ok(schema.map_err(std::io::Error::from)?)
}

fn page(format: Format) -> Page<'static> {
    match format {
        #[cfg(feature = "sim")]
        Format::Scenario => Page {
            name: "bentpipe-scenario",
            summary: "scenario files of bentpipe",
            description: &[
                "A scenario says what is simulated or emulated: nodes, links between them, and flows. It is a file in TOML. bentpipe run, \
                 compare, sweep and emulate take its name, or that of a scenario that comes with the program.",
                "bentpipe init writes one of a link of your own. bentpipe schema prints the JSON Schema, with which editors complete \
                 and check scenario files.",
            ],
            example: include_str!("../../data/manual/scenario.toml"),
            see_also: "bentpipe-run(1), bentpipe-compare(1), bentpipe-init(1), bentpipe-sweep(1), bentpipe-emulate(1)",
        },
        #[cfg(feature = "gateway")]
        Format::Gateway => Page {
            name: "bentpipe-gateway",
            summary: "configuration of bentpipe gateway",
            description: &[
                "A gateway at each end of a satellite link carries TCP connections, and datagrams if it is told to, of the hosts beside \
                 it. Its configuration is a file in TOML, /etc/bentpipe/gateway.toml for the service.",
                "bentpipe gateway --check FILE says all that is wrong in it. Where link.rate, the rate of a peer and its weight change, \
                 a running gateway takes them over on SIGHUP.",
            ],
            example: include_str!("../../data/manual/gateway.toml"),
            see_also: "bentpipe-gateway(1), bentpipe-keygen(1), bentpipe-top(1)",
        },
    }
}
