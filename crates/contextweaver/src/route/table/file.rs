//! Reads a table from the safetensors format, under the tensor names of model2vec.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::MAX_DIMENSIONS;
use super::error::TableError;

/// The largest file that is read, in bytes.
const MAX_FILE: usize = 512 * 1024 * 1024;
/// The largest header, in bytes.
const MAX_HEADER: usize = 16 * 1024 * 1024;
/// The largest scale of a row, as an integer.
const SCALE: f64 = 65_536.0;
/// The name of a tensor with two numbers in each byte.
const NIBBLES: &str = "embeddings_i4";

/// The rows of a table, each quantised to whole numbers with a scale of its own.
#[derive(Debug)]
pub(super) struct TableRows {
    pub(super) dimensions: usize,
    pub(super) values: RowValues,
    /// The factor of each row, in units of 1/65,536 of the largest.
    pub(super) scales: Box<[u32]>,
    /// The row of each piece, if it is not simply the one with the same index.
    pub(super) mapping: Option<Box<[u32]>>,
    /// The row of each piece in the text of a request, if it differs from the row in that of an item.
    pub(super) query_mapping: Option<Box<[u32]>>,
}

impl TableRows {
    /// The number of pieces that the table has rows for.
    pub(super) fn piece_count(&self) -> usize {
        let mapping = self.mapping.as_ref().or(self.query_mapping.as_ref());
        mapping.map_or(self.scales.len(), |mapping| mapping.len())
    }
}

/// The numbers of all rows, one row after the other.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RowValues {
    Bytes(Box<[i8]>),
    /// Two numbers of four bits in each byte, the lower bits first.
    Nibbles(Box<[u8]>),
}

impl RowValues {
    /// Adds a row of so many dimensions to a sum, multiplied with a factor. A row that is not there adds
    /// nothing.
    pub(super) fn add_row(&self, row: usize, sum: &mut [i64], factor: i64) {
        match self {
            Self::Bytes(bytes) => {
                let values = row_of(bytes, row, sum.len());
                sum.iter_mut()
                    .zip(values)
                    .for_each(|(sum, value)| *sum += i64::from(*value) * factor);
            }
            Self::Nibbles(bytes) => {
                let pairs = row_of(bytes, row, sum.len() / 2);
                for ([first, second], pair) in sum.as_chunks_mut().0.iter_mut().zip(pairs) {
                    *first += i64::from((pair << 4).cast_signed() >> 4) * factor;
                    *second += i64::from(pair.cast_signed() >> 4) * factor;
                }
            }
        }
    }
}

fn row_of<T>(values: &[T], row: usize, width: usize) -> &[T] {
    values.get(row * width..(row + 1) * width).unwrap_or_default()
}

/// A tensor as the header describes it.
#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

/// A tensor with its bytes.
struct Tensor<'a> {
    name: &'static str,
    dtype: String,
    shape: Vec<usize>,
    bytes: &'a [u8],
}

struct File<'a> {
    entries: BTreeMap<String, Entry>,
    data: &'a [u8],
}

pub(super) fn read(bytes: &[u8]) -> Result<TableRows, TableError> {
    let file = File::parse(bytes)?;
    let named = ["embeddings", "embeddings_i8", NIBBLES, "embedding.weight"];
    let rows = named.into_iter().find_map(|name| file.tensor(name).transpose());
    let rows = rows.unwrap_or(Err(TableError::Missing { what: "tensor `embeddings`" }))?;
    let (count, dimensions) = rows.rows_and_dimensions()?;
    let mut weights = vec![1.0; count];
    for name in ["row_scale", "weights"] {
        let Some(tensor) = file.tensor(name)? else { continue };
        let factors = tensor.numbers()?;
        if factors.len() != count {
            return Err(tensor.shape_error("one number for each row"));
        }
        weights.iter_mut().zip(factors).for_each(|(weight, factor)| *weight *= factor);
    }
    let (values, mut scales) = rows.values(count, dimensions)?;
    scales.iter_mut().zip(&weights).for_each(|(scale, weight)| *scale *= weight);
    let mapping = |name| file.tensor(name)?.map(|tensor| self::mapping(&tensor, count)).transpose();
    let (mapping, query_mapping) = (mapping("mapping")?, mapping("query_mapping")?);
    if let (Some(items), Some(queries)) = (&mapping, &query_mapping)
        && items.len() != queries.len()
    {
        let (what, wanted) = ("query_mapping", "as long as `mapping`");
        return Err(TableError::Shape { what, found: format!("{} rows", queries.len()), wanted });
    }
    Ok(TableRows { dimensions, values, scales: to_fixed_point(&scales)?, mapping, query_mapping })
}

/// Scales as integers, so that sums are the same on every machine.
fn to_fixed_point(scales: &[f64]) -> Result<Box<[u32]>, TableError> {
    let most = scales.iter().copied().fold(0.0, f64::max);
    if !most.is_finite() || scales.iter().any(|scale| *scale < 0.0 || !scale.is_finite()) {
        let (what, wanted) = ("scales", "finite and not negative");
        return Err(TableError::Shape { what, found: "other numbers".to_owned(), wanted });
    }
    let unit = if most > 0.0 { SCALE / most } else { 0.0 };
    // From 0 to 65,536.
    Ok(scales.iter().map(|scale| (scale * unit).round() as u32).collect())
}

fn mapping(tensor: &Tensor<'_>, rows: usize) -> Result<Box<[u32]>, TableError> {
    let wanted = "a row for each piece";
    let width = match tensor.dtype.as_str() {
        "U16" => 2,
        "I32" | "U32" => 4,
        "I64" | "U64" => 8,
        _ => return Err(tensor.shape_error(wanted)),
    };
    let row = |bytes: &[u8]| {
        let number = bytes.iter().rev().fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
        u32::try_from(number).ok().filter(|row| (*row as usize) < rows)
    };
    let rows: Option<Box<[u32]>> = tensor.bytes.chunks_exact(width).map(row).collect();
    rows.ok_or_else(|| tensor.shape_error(wanted))
}

impl<'a> File<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, TableError> {
        let problem = |problem: &str| TableError::Malformed { problem: problem.to_owned() };
        if bytes.len() > MAX_FILE {
            return Err(problem("it has more than 512 MiB"));
        }
        let (length, rest) = bytes.split_first_chunk().ok_or_else(|| problem("it is cut off"))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > MAX_HEADER {
            return Err(problem("its header has more than 16 MiB"));
        }
        let (header, data) =
            rest.split_at_checked(length).ok_or_else(|| problem("its header is cut off"))?;
        let header: BTreeMap<String, Value> =
            serde_json::from_slice(header).map_err(|error| problem(&error.to_string()))?;
        let entries = header.into_iter().filter(|(name, _)| name != "__metadata__");
        let entries = entries.map(|(name, entry)| Ok((name, serde_json::from_value(entry)?)));
        let entries: Result<_, serde_json::Error> = entries.collect();
        Ok(Self { entries: entries.map_err(|error| problem(&error.to_string()))?, data })
    }

    fn tensor(&self, name: &'static str) -> Result<Option<Tensor<'a>>, TableError> {
        let Some(entry) = self.entries.get(name) else { return Ok(None) };
        let (from, to) = entry.data_offsets;
        let bytes = self.data.get(from..to);
        let tensor = |bytes| {
            let (dtype, shape) = (entry.dtype.clone(), entry.shape.clone());
            Tensor { name, dtype, shape, bytes }
        };
        let found = tensor(bytes.unwrap_or_default());
        let items = found.shape.iter().try_fold(1_usize, |all, size| all.checked_mul(*size));
        let size = items.zip(found.width()).and_then(|(items, width)| items.checked_mul(width));
        if bytes.is_none() || size != Some(found.bytes.len()) {
            return Err(found.shape_error("as many bytes as its shape and type say"));
        }
        Ok(Some(found))
    }
}

impl Tensor<'_> {
    fn shape_error(&self, wanted: &'static str) -> TableError {
        let found = format!("{} of {:?}", self.dtype, self.shape);
        TableError::Shape { what: self.name, found, wanted }
    }

    /// The size of one number in bytes.
    fn width(&self) -> Option<usize> {
        Some(match self.dtype.as_str() {
            "I8" | "U8" => 1,
            "F16" | "BF16" | "U16" => 2,
            "F32" | "I32" | "U32" => 4,
            "F64" | "I64" | "U64" => 8,
            _ => return None,
        })
    }

    fn rows_and_dimensions(&self) -> Result<(usize, usize), TableError> {
        let in_one = if self.name == NIBBLES { 2 } else { 1 };
        match self.shape.as_slice() {
            [rows, width] if (1..=MAX_DIMENSIONS / in_one).contains(width) => {
                Ok((*rows, width * in_one))
            }
            _ => Err(self.shape_error("rows of 1 to 1,024 numbers")),
        }
    }

    /// The rows as whole numbers, and the scale of each.
    fn values(&self, count: usize, dimensions: usize) -> Result<(RowValues, Vec<f64>), TableError> {
        match (self.name, self.dtype.as_str()) {
            (NIBBLES, "U8") => {
                return Ok((RowValues::Nibbles(self.bytes.into()), vec![1.0; count]));
            }
            (NIBBLES, _) => return Err(self.shape_error("two numbers in each byte, as U8")),
            (_, "I8") => {
                let bytes = self.bytes.iter().map(|byte| byte.cast_signed()).collect();
                return Ok((RowValues::Bytes(bytes), vec![1.0; count]));
            }
            _ => {}
        }
        let values = self.numbers()?;
        let (mut bytes, mut scales) = (Vec::with_capacity(values.len()), Vec::new());
        for row in values.chunks(dimensions) {
            let most = row.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            let unit = if most > 0.0 { 127.0 / most } else { 0.0 };
            // From -127 to 127.
            bytes.extend(row.iter().map(|value| (value * unit).round() as i8));
            scales.push(most / 127.0);
        }
        Ok((RowValues::Bytes(bytes.into()), scales))
    }

    fn numbers(&self) -> Result<Vec<f64>, TableError> {
        let bytes = self.bytes;
        let numbers: Vec<f64> = match self.dtype.as_str() {
            "F16" => {
                bytes.as_chunks().0.iter().map(|b| half_to_f64(u16::from_le_bytes(*b))).collect()
            }
            "BF16" => {
                let wide = |b: &[u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16);
                bytes.as_chunks().0.iter().map(|b| f64::from(wide(b))).collect()
            }
            "F32" => {
                bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect()
            }
            "F64" => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
            _ => return Err(self.shape_error("floating-point numbers")),
        };
        if numbers.iter().all(|number| number.is_finite()) {
            return Ok(numbers);
        }
        Err(TableError::Shape {
            what: self.name,
            found: "not finite".to_owned(),
            wanted: "finite numbers",
        })
    }
}

/// Converts an IEEE 754 half-precision number.
fn half_to_f64(bits: u16) -> f64 {
    let (sign, exponent) = (f64::from(1 - 2 * i32::from(bits >> 15)), i32::from(bits >> 10 & 31));
    let fraction = f64::from(bits & 1023) / 1024.0;
    sign * match exponent {
        0 => fraction * 2_f64.powi(-14),
        31 => f64::INFINITY,
        _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = u64::try_from(header.len()).unwrap().to_le_bytes();
        [&length, header.as_bytes(), data].concat()
    }

    fn bytes(values: &[i8]) -> RowValues {
        RowValues::Bytes(values.into())
    }

    /// Two rows of four numbers of four bits.
    fn nibbles(dtype: &str, width: usize) -> String {
        let tensor = format!(r#"{{"dtype":"{dtype}","shape":[2,{width}],"data_offsets":[0,4]}}"#);
        let scale = r#"{"dtype":"F16","shape":[2],"data_offsets":[4,8]}"#;
        format!(r#"{{"embeddings_i4":{tensor},"row_scale":{scale}}}"#)
    }

    #[test]
    fn two_numbers_of_four_bits_stand_in_a_byte() {
        // 1 and 2, -1 and 7, -7 and 0, -8 and 3; the scales are 1 and one half.
        let data = [0x21, 0x7f, 0x09, 0x38, 0x00, 0x3c, 0x00, 0x38];
        let rows = read(&file(&nibbles("U8", 2), &data)).unwrap();
        assert_eq!(
            (rows.dimensions, rows.piece_count(), &*rows.scales),
            (4, 2, &[65_536, 32_768][..])
        );
        let mut sum = [100; 4];
        rows.values.add_row(0, &mut sum, 10);
        assert_eq!(sum, [110, 120, 90, 170]);
        rows.values.add_row(1, &mut sum, -1);
        assert_eq!(sum, [117, 120, 98, 167]);
        // There is no third row.
        rows.values.add_row(2, &mut sum, 1);
        assert_eq!(sum, [117, 120, 98, 167]);
        for wrong in [nibbles("I8", 2), nibbles("F16", 1), nibbles("U8", 513)] {
            assert_eq!(read(&file(&wrong, &data)).err().unwrap().code(), "table.shape", "{wrong}");
        }
    }

    #[test]
    fn floats_are_scaled_row_by_row() {
        let header = r#"{"embeddings":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]}}"#;
        let numbers = [1.0_f32, -0.5, 0.0, 0.0, 0.5, 0.25];
        let data: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        let rows = read(&file(header, &data)).unwrap();
        assert_eq!((rows.dimensions, rows.values), (2, bytes(&[127, -64, 0, 0, 127, 64])));
        assert_eq!(*rows.scales, [65_536, 0, 32_768]);
    }

    #[test]
    fn halves_and_weights_and_a_mapping_are_read() {
        let header = r#"{"__metadata__":{"a":"b"},
            "embedding.weight":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]},
            "weights":{"dtype":"F64","shape":[2],"data_offsets":[4,20]},
            "mapping":{"dtype":"I64","shape":[3],"data_offsets":[20,44]}}"#;
        let mut data = vec![0x00, 0x3c, 0x00, 0xc0];
        data.extend([1.0_f64, 0.25].iter().flat_map(|n| n.to_le_bytes()));
        data.extend([1_i64, 0, 1].iter().flat_map(|n| n.to_le_bytes()));
        let rows = read(&file(header, &data)).unwrap();
        assert_eq!((rows.values, &*rows.scales), (bytes(&[127, -127]), &[65_536, 32_768][..]));
        assert_eq!(rows.mapping.as_deref(), Some(&[1, 0, 1][..]));
        assert_eq!(
            [half_to_f64(0x3555), half_to_f64(0x0001)],
            [0.333_251_953_125, 2_f64.powi(-24)]
        );
    }

    #[test]
    fn requests_have_rows_of_their_own() {
        let header = r#"{"embeddings":{"dtype":"I8","shape":[3,1],"data_offsets":[0,3]},
            "query_mapping":{"dtype":"I32","shape":[2],"data_offsets":[3,11]}}"#;
        let mut data = vec![1, 2, 3];
        data.extend([2_i32, 1].iter().flat_map(|n| n.to_le_bytes()));
        let rows = read(&file(header, &data)).unwrap();
        assert_eq!((rows.piece_count(), rows.mapping.is_none()), (2, true));
        assert_eq!(rows.query_mapping.as_deref(), Some(&[2, 1][..]));
        // The same in two bytes each.
        let short = header.replace("I32", "U16").replace("[3,11]", "[3,7]");
        let rows = read(&file(&short, &[1, 2, 3, 2, 0, 1, 0])).unwrap();
        assert_eq!(rows.query_mapping.as_deref(), Some(&[2, 1][..]));
        // A row that is not there, and mappings of different lengths.
        data.truncate(3);
        data.extend([3_i32, 1].iter().flat_map(|n| n.to_le_bytes()));
        assert_eq!(read(&file(header, &data)).err().unwrap().code(), "table.shape");
        let both = header.replace(
            "[3,11]}}",
            r#"[3,11]},"mapping":{"dtype":"I32","shape":[1],"data_offsets":[7,11]}}"#,
        );
        data.truncate(3);
        data.extend([2_i32, 1].iter().flat_map(|n| n.to_le_bytes()));
        assert_eq!(read(&file(&both, &data)).err().unwrap().code(), "table.shape");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let code = |bytes: &[u8]| read(bytes).err().unwrap().code();
        let one = |tensor: &str, data: &[u8]| file(&format!("{{\"embeddings\":{tensor}}}"), data);
        assert_eq!(code(b"nonsense"), "table.malformed");
        assert_eq!(code(&u64::MAX.to_le_bytes()), "table.malformed");
        assert_eq!(code(&file("{}", b"")), "table.missing");
        for (tensor, size) in [
            (r#"{"dtype":"F32","shape":[4],"data_offsets":[0,16]}"#, 16),
            (r#"{"dtype":"F32","shape":[4,1],"data_offsets":[0,16]}"#, 12),
            (r#"{"dtype":"F32","shape":[4,1],"data_offsets":[0,12]}"#, 12),
            (r#"{"dtype":"F32","shape":[4,0],"data_offsets":[0,0]}"#, 0),
            (r#"{"dtype":"F4","shape":[4,1],"data_offsets":[0,2]}"#, 2),
            (r#"{"dtype":"I64","shape":[1,1],"data_offsets":[0,8]}"#, 8),
        ] {
            assert_eq!(code(&one(tensor, &vec![0; size])), "table.shape", "{tensor}");
        }
        let infinite = r#"{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}"#;
        assert_eq!(code(&one(infinite, &f32::INFINITY.to_le_bytes())), "table.shape");
    }
}
