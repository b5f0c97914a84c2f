package gen

// Type is a column's or parameter's type, by its name in lower case.
type Type string

// The types.
const (
	TypeInteger   Type = "integer"
	TypeUnsigned  Type = "unsigned"
	TypeDouble    Type = "double"
	TypeDecimal   Type = "decimal"
	TypeString    Type = "string"
	TypeBoolean   Type = "boolean"
	TypeDatetime  Type = "datetime"
	TypeUUID      Type = "uuid"
	TypeJSON      Type = "json"
	TypeConstant  Type = "constant"
	TypeReference Type = "reference"
	TypeOneOf     Type = "oneof"
	TypeVarint    Type = "varint"
)

// Distribution is how values are distributed over their range.
type Distribution string

// The distributions.
const (
	Uniform     Distribution = "uniform"
	Normal      Distribution = "normal"
	Zipf        Distribution = "zipf"
	Exponential Distribution = "exponential"
	Hotspot     Distribution = "hotspot"
	Sequential  Distribution = "sequential"
	Histogram   Distribution = "histogram"
)

// Spec describes how the values of a column or parameter are generated.
type Spec struct {
	Type         Type
	Distribution Distribution // "" means uniform
	// Param is the distribution's parameter: the zipf exponent (1.1), the exponential's rate
	// over the range (5), the hotspot's share of draws that go to the hot part (0.8), the
	// normal's number of standard deviations from the middle to an end (3). 0 means the default.
	Param float64
	// HotFraction is the share of the range that is hot; 0 means 0.2.
	HotFraction float64
	// Buckets are the histogram's parts.
	Buckets []Bucket

	// The range, inclusive. Which pair counts depends on Type: numbers (Int for integers, Float
	// for double and decimal), String lengths in characters (Int), Datetime in µs since the
	// epoch (Int). Without HasRange a type's own default holds.
	HasRange         bool
	IntLo, IntHi     int64 // for TypeUnsigned the bits of unsigned numbers
	FloatLo, FloatHi float64

	DecimalScale int      // digits after the point; 0 means 2, negative means none
	Alphabet     []string // "en", "ru", "digits", "hex", or "custom:…"; empty means en
	NullPercent  float64  // 0–100
	Unique       bool     // over the rows of the table

	Constant any // TypeConstant: string, int64, uint64, float64, bool, time.Time or nil

	// TypeVarint: the size of the values in bytes. If Group isn't 0, values are taken in groups of that many numbers, and
	// this is number Member, from 0, of each.
	Size          int
	Group, Member int

	Values []string // TypeOneOf: the values to choose from, by the distribution over their indices

	// TypeReference: the value that an existing row of Table has in Column; Distribution and its
	// parameters choose the row.
	Table, Column string
}

// Bucket is a part of a histogram distribution.
type Bucket struct {
	Lo, Hi float64 // inclusive part of the range; Lo = Hi = 0 in every bucket means equal parts
	Weight float64
}

// Lookup finds the generator of a table's column and the number of rows, for references.
type Lookup func(table, column string) (values Generator, rows uint64, err error)
