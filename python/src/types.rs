//! Python types that Rust's do not tell: what the stubs call them.

use std::{convert::Infallible, ops::Deref};

use numpy::PyArray1;
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyTuple},
};
#[cfg(feature = "stubs")]
use pyo3::{
    inspect::{
        PyStaticConstant::{Bool, Str},
        PyStaticExpr,
    },
    type_hint_identifier as named, type_hint_subscript as of, type_hint_union,
};

/// An object as it is, under a name of its own in the stubs. It is taken and given like what it holds.
macro_rules! typed {
    ($(#[$doc:meta])* $name:ident($object:ty): $hint:expr) => {
        $(#[$doc])*
        pub struct $name<'py>(pub Bound<'py, $object>);

        impl<'py> Deref for $name<'py> {
            type Target = Bound<'py, $object>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl<'py> FromPyObject<'_, 'py> for $name<'py> {
            type Error = PyErr;
            #[cfg(feature = "stubs")]
            const INPUT_TYPE: PyStaticExpr = $hint;

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                Ok(Self(object.cast::<$object>()?.to_owned()))
            }
        }

        impl<'py> IntoPyObject<'py> for $name<'py> {
            type Target = $object;
            type Output = Bound<'py, $object>;
            type Error = Infallible;
            #[cfg(feature = "stubs")]
            const OUTPUT_TYPE: PyStaticExpr = $hint;

            fn into_pyobject(self, _: Python<'py>) -> Result<Self::Output, Infallible> {
                Ok(self.0)
            }
        }
    };
}

typed! {
    /// Whatever numpy takes for an array, a single number included.
    ArrayLike(PyAny): named!("numpy.typing", "ArrayLike")
}

typed! {
    /// One number for each parameter.
    Floats(PyArray1<f64>): of!(named!("numpy.typing", "NDArray"), named!("numpy", "float64"))
}

typed! {
    /// One count for each user.
    Counts(PyArray1<u64>): of!(named!("numpy.typing", "NDArray"), named!("numpy", "uint64"))
}

typed! {
    /// The column of each number that is not zero.
    Columns(PyArray1<u32>): of!(named!("numpy.typing", "NDArray"), named!("numpy", "uint32"))
}

typed! {
    /// One whole number for each query.
    Indices(PyArray1<i64>): of!(named!("numpy.typing", "NDArray"), named!("numpy", "int64"))
}

typed! {
    /// A step size, or a word for the rule that it follows from.
    StepRule(PyAny): type_hint_union!(
        f64::INPUT_TYPE,
        of!(
            named!("typing", "Literal"),
            PyStaticExpr::Constant { value: Str("auto") },
            PyStaticExpr::Constant { value: Str("theory") }
        )
    )
}

typed! {
    /// A whole number, looked at where it has a name.
    Whole(PyAny): u64::INPUT_TYPE
}

typed! {
    /// A tolerance, or "auto".
    ToleranceRule(PyAny): type_hint_union!(
        f64::INPUT_TYPE,
        of!(named!("typing", "Literal"), PyStaticExpr::Constant { value: Str("auto") })
    )
}

typed! {
    /// A pair of whole numbers, or the question that has it; on a file the number of the question.
    TicketLike(PyAny): type_hint_union!(
        u64::INPUT_TYPE,
        of!(named!("collections.abc", "Sequence"), named!("builtins", "int")),
        <crate::query::Query as IntoPyObject<'static>>::OUTPUT_TYPE
    )
}

typed! {
    /// A user by its number, or by its name.
    UserLike(PyAny): type_hint_union!(u64::INPUT_TYPE, named!("builtins", "str"))
}

typed! {
    /// How many users there are, or what they are called.
    UsersLike(PyAny): type_hint_union!(u64::INPUT_TYPE, of!(named!("collections.abc", "Sequence"), named!("builtins", "str")))
}

typed! {
    /// The path of a log, or False for none.
    LogLike(PyAny): type_hint_union!(
        std::path::PathBuf::INPUT_TYPE,
        of!(named!("typing", "Literal"), PyStaticExpr::Constant { value: Bool(false) })
    )
}

impl LogLike<'_> {
    /// The path; none where it is False.
    pub fn path(&self) -> PyResult<Option<std::path::PathBuf>> {
        match self.extract::<bool>() {
            Ok(false) => Ok(None),
            Ok(true) => {
                Err(PyTypeError::new_err("log is True: give a path, False to keep it in memory, or leave it out"))
            }
            Err(_) => self.extract().map(Some),
        }
    }
}

typed! {
    /// Limits on what users disclose, and on what one user can do.
    Protection(PyDict): named!("sgq._record", "Protection")
}

typed! {
    /// What a regression has found.
    FitResult(PyAny): named!("sgq._glm_result", "GlmResult")
}

typed! {
    /// A row of the record.
    Event(PyDict): named!("sgq._record", "Event")
}

typed! {
    /// What a user has disclosed.
    Account(PyDict): named!("sgq._record", "Account")
}

typed! {
    /// What was saved of a damaged file.
    Recovered(PyDict): named!("sgq._record", "Recovered")
}

typed! {
    /// What a user said, and where.
    Paid(PyTuple): of!(
        named!("builtins", "tuple"),
        named!("builtins", "int"),
        of!(named!("numpy.typing", "NDArray"), named!("numpy", "float64")),
        of!(named!("builtins", "dict"), named!("builtins", "str"), named!("typing", "Any"))
    )
}

typed! {
    /// Answers of an earlier run: triples of user, point and gradient, or all that was said.
    Answers(PyAny): of!(
        named!("collections.abc", "Iterable"),
        of!(
            named!("builtins", "tuple"),
            named!("builtins", "int"),
            named!("numpy.typing", "ArrayLike"),
            type_hint_union!(
                named!("numpy.typing", "ArrayLike"),
                of!(named!("builtins", "dict"), named!("builtins", "str"), named!("typing", "Any"))
            )
        )
    )
}

typed! {
    /// How much answers say.
    DetailWord(PyAny): of!(
        named!("typing", "Literal"),
        PyStaticExpr::Constant { value: Str("gradient") },
        PyStaticExpr::Constant { value: Str("loss") },
        PyStaticExpr::Constant { value: Str("hessian") }
    )
}

typed! {
    /// A method's own settings.
    Keywords(PyDict): of!(named!("builtins", "dict"), named!("builtins", "str"), named!("typing", "Any"))
}

typed! {
    /// A stored session.
    State(PyDict): named!("sgq._state", "State")
}
