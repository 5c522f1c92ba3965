//! Graphs of wyrmling beside those of wyrm 0.9.1 (Kula, 2018), in one process and with the same flags:
//! the processor time of a step on one thread.
//!
//! ```text
//! cd benches/wyrm && cargo run --release -- [wyrm | typed | trainer | frozen | PART OF A LINE'S NAME]...
//! ```
//!
//! Each line is a piece of work. *typed* builds its graph once, out of typed variables, and runs it
//! again and again, as wyrm does; *trainer* hands that graph to a `Trainer`; *frozen* is the graph as a
//! program. In brackets is the share of wyrm's time. The sides take turns, and each figure is the median of its turns.

mod bpr;
mod clock;
mod lstm;
mod products;
mod regression;
mod rows;
mod work;

use clock::Line;

fn main() {
    let is_side = |word: &String| ["wyrm", "typed", "trainer", "frozen"].contains(&word.as_str());
    let (sides, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(is_side);
    let is_wanted = |side: &str| sides.is_empty() || sides.iter().any(|name| name == side);
    let groups: [fn() -> Vec<Line>; 5] = [
        regression::lines,
        products::lines,
        rows::lines,
        lstm::lines,
        bpr::lines,
    ];
    println!(
        "{:<40} {:>12} {:>20} {:>20} {:>20}",
        "ns", "wyrm", "typed", "trainer", "frozen"
    );
    for (name, set_up) in groups.into_iter().flat_map(|lines| lines()) {
        if words.is_empty() || words.iter().any(|word| name.contains(word.as_str())) {
            println!("{name:<40} {}", set_up().measure(is_wanted));
        }
    }
}
