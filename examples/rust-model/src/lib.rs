//! A model in Rust on top of wyrmling: an operator, a model and, with the feature `python`, a module.

pub mod huber;
pub mod model;
#[cfg(feature = "python")]
mod python;

#[cfg(test)]
mod tests {
    use wyrmling::{Error, Input, Parameter};

    use crate::huber::Huber;
    use crate::model::Ratings;

    #[test]
    fn hubers_loss_and_its_slope() {
        let x = Parameter::new(vec![-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0]);
        let loss = x.clone().unary(Huber).unwrap();
        assert_eq!(
            loss.value().unwrap().to_f64(),
            [2.5, 0.5, 0.125, 0.0, 0.03125, 0.5, 1.5]
        );
        loss.sum().backward();
        assert!(Input::indices(vec![1]).unary(Huber).is_err());
        let slope = x.grad().unwrap().to_dense().to_f64();
        assert_eq!(slope, [-1.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.0]);
    }

    /// Two groups of users who like two groups of items; one rating in ten is the opposite.
    fn ratings() -> Vec<(String, String, f32)> {
        let mut all = Vec::new();
        for user in 0..60 {
            for item in 0..40 {
                let likes = (user + item) % 2 == 0;
                let is_wrong = (user * user * 7 + user * item * 13 + item * 3) % 10 == 0;
                let rating = if likes != is_wrong { 5.0 } else { 1.0 };
                if (user * 11 + item * 5) % 4 != 0 {
                    all.push((format!("user {user}"), format!("item {item}"), rating));
                }
            }
        }
        all
    }

    #[test]
    fn wrong_ratings_matter_little() {
        let model = Ratings::fit(&ratings(), 30, 1).unwrap();
        let is_right = |user: i32, item: i32| {
            let found = model.predict(&format!("user {user}"), &format!("item {item}"));
            (found.unwrap() > 3.0) == ((user + item) % 2 == 0)
        };
        let pairs = (0..60).flat_map(|user| (0..40).map(move |item| (user, item)));
        let right = pairs.filter(|&(user, item)| is_right(user, item)).count();
        // Of those that were learnt from, 90 in 100 are.
        assert!(right > 95 * 60 * 40 / 100, "{right}");
        let best = model.best("user 3", 10).unwrap();
        let is_odd = |id: &str| id.trim_start_matches("item ").parse::<u32>().unwrap() % 2 == 1;
        assert!(best.len() == 10 && best.iter().all(|(id, _)| is_odd(id)));
        assert!(model.predict("user 3", "tea").is_none() && model.best("ann", 3).is_none());
    }

    #[test]
    fn what_cannot_be_learnt_from_is_refused() {
        assert!(matches!(Ratings::fit(&[], 1, 0), Err(Error::Value(_))));
        let large =
            [("ann", "tea"), ("bob", "tea")].map(|(user, item)| (user.into(), item.into(), 3e38));
        let fitted = Ratings::fit(&large, 1, 0);
        assert!(matches!(fitted, Ok(_) | Err(Error::NotFinite(_))));
        let wrong = [("ann".to_owned(), "tea".to_owned(), f32::NAN)];
        assert!(matches!(
            Ratings::fit(&wrong, 1, 0),
            Err(Error::NotFinite(_))
        ));
    }
}
