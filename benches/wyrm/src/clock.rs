//! Pieces of work that take turns, timed by the processor time of this process.

/// Turns of each side.
const TURNS: usize = 11;
/// A turn takes at least as many nanoseconds, unless one repetition takes longer.
const TURN: f64 = 10e6;

/// So many repetitions of a piece of work.
pub type Work = Box<dyn FnMut(usize)>;

/// A line of the table: what is done, and how to set that up, which takes memory and time.
pub type Line = (&'static str, Box<dyn FnOnce() -> Sides>);

/// A line by its name.
pub fn line(name: &'static str, set_up: impl FnOnce() -> Sides + 'static) -> Line {
    (name, Box::new(set_up))
}

/// The same work in wyrm and here.
pub struct Sides {
    /// In wyrm.
    pub wyrm: Work,
    /// By a graph of typed variables, with `backward` and, where it trains, `Optimizer::step`.
    pub typed: Work,
    /// By a trainer of that graph, where it trains.
    pub trainer: Option<Work>,
    /// By a program.
    pub frozen: Work,
}

/// Nanoseconds that the processor has spent on this process, whose work is on one thread at a time.
fn now() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the result.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert!(failed == 0, "this system has no clock of processor time");
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Nanoseconds that `count` repetitions take.
fn time(work: &mut Work, count: usize) -> f64 {
    let start = now();
    work(count);
    now() - start
}

impl Sides {
    /// The medians of those sides whose names `is_wanted` wants.
    pub fn measure(self, is_wanted: impl Fn(&str) -> bool) -> String {
        let wanted = |name, work: Option<Work>| work.filter(|_| is_wanted(name));
        let sides = [
            wanted("wyrm", Some(self.wyrm)),
            wanted("typed", Some(self.typed)),
            wanted("trainer", self.trainer),
            wanted("frozen", Some(self.frozen)),
        ];
        let mut sides = sides.map(|work| work.map(|work| (work, 1, Vec::new())));
        for (work, count, _) in sides.iter_mut().flatten() {
            while time(work, *count) < TURN / 4.0 {
                *count *= 4;
            }
            *count = (*count as f64 * TURN / time(work, *count)).ceil() as usize;
        }
        for _ in 0..TURNS {
            for (work, count, times) in sides.iter_mut().flatten() {
                times.push(time(work, *count) / *count as f64);
            }
        }
        let medians = sides.map(|side| {
            let (_, _, mut times) = side?;
            times.sort_by(f64::total_cmp);
            Some(times[times.len() / 2])
        });
        let wyrm = medians[0].unwrap_or(f64::NAN);
        let ours = |time: &Option<f64>| match time {
            Some(time) => format!("{time:>12.0} ({:>5.2})", time / wyrm),
            None => String::new(),
        };
        let [typed, trainer, frozen] = [&medians[1], &medians[2], &medians[3]].map(ours);
        format!("{wyrm:>12.0} {typed:>20} {trainer:>20} {frozen:>20}")
    }
}
