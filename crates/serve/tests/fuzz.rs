//! The fuzz target of what a page may say, on a fixed number of inputs.

use bentpipe_serve::fuzz::request;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

const SEEDS: [&str; 5] = [
    r#"{"scenario":"name = \"x\"","seed":7,"variant":"tcp-bbr","speed":10,"paused":true,"packets":{"from_s":0,"until_s":1}}"#,
    r#"{"do":"step","seconds":0.1}"#,
    r#"{"what":"compare","scenario":"x","variants":["cubic"],"reps":2}"#,
    r#"{"constellation":"iridium","from":"London","to":"51,0","duration_s":60,"step_s":1,"update_interval_s":10}"#,
    r#"{"at":[0,60]}"#,
];
const ROUNDS: usize = 3000;

#[test]
fn whatever_a_page_says_is_read_or_refused() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    for round in 0..ROUNDS {
        let mut bytes = SEEDS[round % SEEDS.len()].as_bytes().to_vec();
        for _ in 0..random.random_range(0..6) {
            let at = random.random_range(0..bytes.len());
            bytes[at] = random.random_range(b' '..=b'~');
        }
        request(&bytes);
    }
}
