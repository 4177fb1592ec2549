//! The distribution of random amounts.

use bentpipe_sim::Draw;

use crate::schema::draw::{Amount, DrawTable, Law, LawTable};

impl<T: Amount> DrawTable<T> {
    /// The distribution.
    ///
    /// # Errors
    /// The key that cannot be, and why.
    pub(crate) fn draw(&self) -> Result<Draw, (&'static str, String)> {
        let LawTable { mean, law, shape } = &self.0;
        let mean = mean.base();
        if !(mean >= 0.0 && mean.is_finite()) {
            return Err(("mean", format!("{mean}: it must not be below 0")));
        }
        let shape = match (law, shape) {
            (Law::Pareto | Law::Lomax, Some(shape)) if *shape > 1.0 && shape.is_finite() => *shape,
            (Law::Pareto | Law::Lomax, Some(shape)) => {
                return Err(("shape", format!("{shape}: it must be above 1")));
            }
            (Law::Pareto | Law::Lomax, None) => {
                return Err(("shape", "the law needs a `shape` above 1".to_owned()));
            }
            (Law::Constant | Law::Exponential, Some(_)) => {
                return Err(("shape", "only `pareto` and `lomax` have a shape".to_owned()));
            }
            (Law::Constant | Law::Exponential, None) => 0.0,
        };
        Ok(match law {
            Law::Constant => Draw::Constant(mean),
            Law::Exponential => Draw::Exponential(mean),
            Law::Pareto => Draw::Pareto(mean, shape),
            Law::Lomax => Draw::Lomax(mean, shape),
        })
    }
}
