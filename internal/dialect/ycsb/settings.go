// Package ycsb is the dialect of YCSB and go-ycsb: property files, workloads, and databases. It compiles them into
// plans, and prints results in the formats of these tools.
package ycsb

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/load/keyspace"
)

// Command is one of the commands on a database.
type Command string

// The commands.
const (
	Load  Command = "load"  // insert the records
	Run   Command = "run"   // run the mix of operations
	Shell Command = "shell" // execute the user's commands
)

// Settings are the parsed properties of the core workload.
type Settings struct {
	Command  Command
	Database *Database
	Set      *properties.Set
	Getenv   func(string) string // environment variables, which say what properties don't; nil: there are none

	Table                              string
	Records, Operations                int64 // Records is at least 1
	InsertStart, InsertCount           int64
	LoadCount                          int64 // number of records that a load inserts
	Threads, Batch                     int
	Pipeline                           int // inserts in flight per session while loading
	Target                             int64
	WarmUp, MaxExecution               time.Duration
	Seed                               uint64
	Keys                               keyspace.Keys
	Fields                             []string
	Lengths                            keyspace.Lengths
	FieldLength                        int // longest value of a field
	ReadAll, WriteAll                  bool
	Integrity                          bool
	Shares                             Shares
	Choice                             keyspace.Choice
	ScanLeast, ScanMost                int64
	ScanZipfian                        bool
	RetryLimit                         int
	RetryPause                         time.Duration
	DropData, Resume, Verbose, Silence bool
	Faults                             bool // compat=goycsb
	Output                             OutputSettings
	Warnings                           []string
	recordCountGiven                   bool
}

// Shares are the proportions of operations, as given; their sum need not be 1.
type Shares struct{ Read, Update, Insert, Scan, ReadModifyWrite float64 }

// OutputSettings control how results are printed.
type OutputSettings struct {
	Raw              bool   // record every operation's time
	Style            string // plain, table or json
	File             string // "" for standard output
	Every            time.Duration
	Measure          string // op, intended, both
	Percentiles      bool
	PercentilePrefix string
	Logs             bool // write HdrHistogram logs
	LogPrefix        string
	Exporter         string // "", text or json
}

func seconds(r *properties.Reader, key string, standard float64) time.Duration {
	return time.Duration(r.Float(key, standard, 0, 1e9) * float64(time.Second))
}

// ReadFile reads the file that a property names.
type ReadFile func(name string) ([]byte, error)

// Understand parses properties into settings. Errors name the property, where it was given, and what is expected.
func Understand(command Command, d *Database, set *properties.Set, readFile ReadFile) (*Settings, error) {
	set.Put("command", string(command), "")
	set.Put("dotransactions", fmt.Sprint(command != Load), "")
	warnings, err := unknown(set, d)
	if err != nil {
		return nil, err
	}
	r := &properties.Reader{Set: set}
	s := &Settings{Command: command, Database: d, Set: set, Warnings: warnings}
	s.Table = set.Text("table", "usertable")
	set.Put("table", s.Table, set.Where("table"))
	s.sizes(r)
	s.fields(r, readFile)
	s.mix(r)
	s.load(r)
	s.output(r)
	if w := strings.TrimSpace(set.Text("workload", "core")); w != "core" &&
		!strings.HasSuffix(w, "workloads.CoreWorkload") {
		r.Keep(fmt.Errorf("%s: property workload=%q: only the core workload is known; give core", set.Where("workload"), w))
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, s.check()
}

// unlimitedRecords is the number that go-ycsb uses for recordcount=0.
const unlimitedRecords = math.MaxInt32

func (s *Settings) sizes(r *properties.Reader) {
	const most = math.MaxInt64 / 4
	s.Records = r.Int("recordcount", 0, 0, most)
	s.recordCountGiven = s.Records > 0
	s.Records = cmp.Or(s.Records, unlimitedRecords)
	s.Operations = r.Int("operationcount", 0, 0, most)
	s.InsertStart = r.Int("insertstart", 0, 0, most)
	s.InsertCount = r.Int("insertcount", max(s.Records-s.InsertStart, 0), 0, most)
	_, counted := r.Get("insertcount")
	if s.LoadCount = s.InsertCount; !counted && s.recordCountGiven {
		s.LoadCount = s.Records // as in go-ycsb, regardless of insertstart
	}
	s.recordCountGiven = s.recordCountGiven || counted
	s.Threads = int(r.Int("threadcount", 1, 1, 1_000_000))
	s.Batch = int(r.Int("batch.size", 1, 1, 100_000))
	s.Target = r.Int("target", 0, 0, 1_000_000_000)
	s.WarmUp = seconds(r, "warmuptime", 0)
	s.MaxExecution = seconds(r, "maxexecutiontime", 0)
	s.Seed = uint64(r.Int("seed", 0, 0, math.MaxInt64))
	s.Faults = r.Choice("compat", "", "", "goycsb") == "goycsb"
	s.Keys = keyspace.Keys{
		Prefix: r.Text("keyprefix", "user"), Padding: int(r.Int("zeropadding", 1, 0, 1000)),
		Ordered: strings.TrimSpace(r.Text("insertorder", "hashed")) != "hashed",
		Flavor:  keyspace.Flavor(r.Choice("hash", "goycsb", "goycsb", "java")),
	}
}

func (s *Settings) fields(r *properties.Reader, readFile ReadFile) {
	for i := range r.Int("fieldcount", 10, 1, 1000) {
		s.Fields = append(s.Fields, fmt.Sprintf("field%d", i))
	}
	n := int(r.Int("fieldlength", 100, 0, 1<<30))
	distribution := r.Choice("fieldlengthdistribution", "constant", "constant", "uniform", "zipfian", "histogram")
	s.Lengths = keyspace.Lengths{Shape: "constant", Most: n}
	switch {
	case distribution == "histogram":
		name := r.Text("fieldlengthhistogram", "hist.txt")
		data, err := readFile(name)
		if err == nil {
			s.Lengths, err = keyspace.HistogramLength(name, data, s.Faults)
		}
		if err != nil {
			r.Keep(fmt.Errorf("%sproperty fieldlengthhistogram: %w", s.at("fieldlengthhistogram", "fieldlengthdistribution"),
				err))
		}
	case n > 0:
		s.Lengths.Shape = distribution
	}
	s.FieldLength = max(n, s.Lengths.Most)
	s.ReadAll, s.WriteAll = r.Bool("readallfields", true), r.Bool("writeallfields", false)
	s.Integrity = r.Bool("dataintegrity", false)
	if s.Integrity && distribution != "constant" {
		r.Keep(
			fmt.Errorf(
				"%sdataintegrity=true needs fieldlengthdistribution=constant, not %s: the content of a field follows from its length",
				s.at("fieldlengthdistribution"), distribution))
	}
}

func (s *Settings) mix(r *properties.Reader) {
	share := func(name string, standard float64) float64 { return r.Float(name+"proportion", standard, 0, 1e9) }
	s.Shares = Shares{
		Read: share("read", 0.95), Update: share("update", 0.05), Insert: share("insert", 0),
		Scan: share("scan", 0), ReadModifyWrite: share("readmodifywrite", 0),
	}
	s.Choice = keyspace.Choice{
		Distribution: strings.ToLower(strings.TrimSpace(r.Text("requestdistribution", "uniform"))),
		First:        s.InsertStart, Count: s.InsertCount, Records: s.Records,
		Inserting: s.Command == Run && s.Shares.Insert > 0,
		NewKeys:   int64(float64(s.Operations) * s.Shares.Insert * 2),
		HotData:   r.Float("hotspotdatafraction", 0.2, 0, 1), HotOperations: r.Float("hotspotopnfraction", 0.8, 0, 1),
		Percentile: r.Float("exponential.percentile", 95, 1e-9, 99.999999),
		Fraction:   r.Float("exponential.frac", 0.8571428571, 1e-9, 1e9),
		Flavor:     s.Keys.Flavor, Faults: s.Faults,
	}
	s.ScanLeast = r.Int("minscanlength", 1, 0, math.MaxInt32)
	s.ScanMost = r.Int("maxscanlength", 1000, 0, math.MaxInt32)
	s.ScanZipfian = r.Choice("scanlengthdistribution", "uniform", "uniform", "zipfian") == "zipfian"
}

func (s *Settings) load(r *properties.Reader) {
	s.RetryLimit = int(r.Int("core_workload_insertion_retry_limit", 0, 0, 1_000_000))
	s.RetryPause = seconds(r, "core_workload_insertion_retry_interval", 3)
	s.DropData, s.Resume = r.Bool("dropdata", false), r.Bool("resume", false)
	s.Pipeline = int(r.Int("load.pipeline", int64(s.pipeline()), 1, 65_536))
	s.Verbose, s.Silence = r.Bool("verbose", false), r.Bool("silence", true)
}

// pipeline returns the default number of inserts in flight per session. It is the database's LoadPipeline, but 1 if
// there is a target rate, where latency matters, if failed inserts are retried, or if inserts are batched.
func (s *Settings) pipeline() int {
	if s.Command != Load || s.Target > 0 || s.RetryLimit > 0 || s.Batch > 1 {
		return 1
	}
	return max(s.Database.LoadPipeline, 1)
}

func (s *Settings) output(r *properties.Reader) {
	o := &s.Output
	kind := r.Choice("measurementtype", "histogram", "histogram", "hdrhistogram", "raw", "csv")
	o.Raw = kind == "raw" || kind == "csv"
	o.Style = r.Choice("outputstyle", "plain", "plain", "table", "json")
	o.File = r.Text("measurement.output_file", "")
	o.Every, o.Measure = 10*time.Second, "op"
	if s.Target > 0 {
		o.Measure = "intended"
	}
	switch v := strings.ToLower(strings.TrimSpace(r.Text("measurement.interval", "10"))); v {
	case "op", "intended", "both":
		o.Measure, o.Every = v, seconds(r, "status.interval", 10)
	default:
		o.Every = seconds(r, "measurement.interval", 10)
	}
	if r.Err() == nil && o.Every <= 0 {
		r.Keep(fmt.Errorf("%slines every %v: give measurement.interval a number of seconds above 0, or op, intended or both",
			s.at("measurement.interval"), o.Every))
	}
	o.Percentiles = r.Bool("histogram.percentiles.export", false)
	o.PercentilePrefix = r.Text("histogram.percentiles.export.filepath", "./")
	o.Logs = r.Bool("hdrhistogram.fileoutput", false)
	o.LogPrefix = r.Text("hdrhistogram.output.path", "./")
	exporter := r.Text("exporter", "")
	switch {
	case exporter == "":
	case strings.Contains(exporter, "JSON"):
		o.Exporter = "json"
	case strings.Contains(exporter, "Text"):
		o.Exporter = "text"
	default:
		r.Keep(
			fmt.Errorf(
				"%s: property exporter=%q: give site.ycsb.measurements.exporter.TextMeasurementsExporter or JSONMeasurementsExporter", r.Where("exporter"), exporter))
	}
	if f := r.Text("exportfile", ""); f != "" {
		o.File = f
	}
}

// at returns where the first of the given properties that is set was given, as the beginning of an error, or "".
func (s *Settings) at(names ...string) string {
	for _, name := range names {
		if where := s.Set.Where(name); where != "" {
			return where + ": "
		}
	}
	return ""
}

// check validates combinations of properties.
func (s *Settings) check() error {
	if s.InsertStart+s.InsertCount > s.Records {
		return fmt.Errorf("%srecord count %d must be bigger than insert start %d + count %d",
			s.at("insertcount", "insertstart", "recordcount"), s.Records, s.InsertStart, s.InsertCount)
	}
	if s.ScanMost < s.ScanLeast {
		return fmt.Errorf("%smaxscanlength=%d is below minscanlength=%d", s.at("maxscanlength", "minscanlength"), s.ScanMost,
			s.ScanLeast)
	}
	switch s.Command {
	case Load:
		if part := s.LoadCount % int64(s.Batch); part > 0 {
			s.Warnings = append(s.Warnings,
				fmt.Sprintf("batch.size=%d doesn't divide %d records: the last batch is filled up with %d more", s.Batch,
					s.LoadCount, int64(s.Batch)-part))
		}
		if !s.recordCountGiven || s.LoadCount == 0 {
			return fmt.Errorf("%snothing to load: give recordcount or insertcount, for example -p recordcount=1000",
				s.at("insertcount", "recordcount"))
		}
	case Run:
		if s.Operations == 0 && s.MaxExecution == 0 {
			return fmt.Errorf("%sno end: give operationcount, or maxexecutiontime in seconds", s.at("operationcount"))
		}
		sh := s.Shares
		if sh.Read+sh.Update+sh.Insert+sh.Scan+sh.ReadModifyWrite <= 0 {
			return fmt.Errorf("%sall proportions are 0: give one, for example -p readproportion=1", s.at("readproportion"))
		}
		if s.Batch > 1 && (sh.Scan > 0 || sh.ReadModifyWrite > 0) {
			return fmt.Errorf("%sbatch.size=%d: scans and read-modify-writes can't be batched; set their proportions to 0",
				s.at("batch.size"), s.Batch)
		}
	}
	if s.Batch > 1 && !s.Database.Batches {
		return fmt.Errorf("%sbatch.size=%d: database %s has no batches; set it to 1", s.at("batch.size"), s.Batch,
			s.Database.Names[0])
	}
	return nil
}

// KeyRange returns the range of keys that go-ycsb prints.
func (s *Settings) KeyRange() (lo, hi int64) {
	lo, hi = s.InsertStart, s.InsertStart+s.InsertCount-1
	if s.Choice.Distribution == "zipfian" {
		hi = s.InsertStart + s.InsertCount + s.Choice.NewKeys
	}
	return lo, hi
}
