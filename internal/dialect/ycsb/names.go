package ycsb

import (
	"fmt"
	"slices"
	"strings"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/suggest"
)

// Property is a known property.
type Property struct {
	Name    string
	Default string
	About   string // one line
}

// CoreProperties returns the properties that don't belong to a database.
func CoreProperties() []Property {
	return []Property{
		{"recordcount", "0", "records in the table"},
		{"operationcount", "0", "operations of the run; 0 with maxexecutiontime: no limit"},
		{"insertstart", "0", "number of the first record to load"},
		{"insertcount", "recordcount-insertstart", "how many records to load"},
		{"threadcount", "1", "sessions; --threads"},
		{"target", "0", "operations a second, sent whatever the server does; 0: as many as it answers; --target"},
		{"batch.size", "1", "records an operation"},
		{"load.pipeline", "1; pg, redis: 8", "inserts of a load in flight a session; with target 1"},
		{"workload", "core", "core or site.ycsb.workloads.CoreWorkload"},
		{"table", "usertable", "name of the table; --table"},
		{"keyprefix", "user", "what keys begin with"},
		{"zeropadding", "1", "least number of digits of a key"},
		{"hash", "goycsb", "whose keys: goycsb or java"},
		{"compat", "", "goycsb: repeat its faults in choosing records"},
		{"seed", "0", "of all values and choices"},
		{"fieldcount", "10", "fields of a record, named field0, field1 …"},
		{"fieldlength", "100", "bytes of a field"},
		{"fieldlengthdistribution", "constant", "constant, uniform, zipfian or histogram"},
		{"fieldlengthhistogram", "hist.txt", "file of the histogram"},
		{"readallfields", "true", "read all fields, or one"},
		{"writeallfields", "false", "update all fields, or one"},
		{"dataintegrity", "false", "write values that reads can check, and check them"},
		{"readproportion", "0.95", "share of reads"},
		{"updateproportion", "0.05", "share of updates"},
		{"insertproportion", "0", "share of inserts"},
		{"scanproportion", "0", "share of scans"},
		{"readmodifywriteproportion", "0", "share of reads followed by an update of the record"},
		{"requestdistribution", "uniform", "uniform, sequential, zipfian, latest, hotspot or exponential"},
		{"insertorder", "hashed", "hashed; anything else: ordered"},
		{"hotspotdatafraction", "0.2", "hot share of the records"},
		{"hotspotopnfraction", "0.8", "share of the operations on hot records"},
		{"exponential.percentile", "95", "so many per cent of the operations …"},
		{"exponential.frac", "0.8571428571", "… are on this share of the records"},
		{"minscanlength", "1", "least number of records a scan asks for"},
		{"maxscanlength", "1000", "greatest number of records a scan asks for"},
		{"scanlengthdistribution", "uniform", "uniform or zipfian"},
		{"core_workload_insertion_retry_limit", "0", "further attempts at an insert of the load that failed"},
		{"core_workload_insertion_retry_interval", "3", "seconds between them, ±20 %"},
		{"warmuptime", "0", "seconds before operations count (run)"},
		{"maxexecutiontime", "0", "seconds after which the load ends; 0: no limit"},
		{"dropdata", "false", "empty the table first"},
		{"resume", "false", "go on with a load that was interrupted"},
		{"verbose", "false", "say what is done"},
		{"silence", "true", "false: print each error"},
		{"measurementtype", "histogram", "histogram, or raw (csv): every operation's time"},
		{"measurement.output_file", "", "file for the result"},
		{"measurement.interval", "10", "seconds between lines (--interval), or what is measured: op, intended or both"},
		{"status.interval", "10", "seconds between lines, where measurement.interval says what is measured"},
		{"outputstyle", "plain", "plain, table or json"},
		{"histogram.percentiles.export", "false", "write OPERATION-percentiles.txt"},
		{"histogram.percentiles.export.filepath", "./", "what their names begin with"},
		{"hdrhistogram.fileoutput", "false", "write OPERATION.hlog, a log of histograms"},
		{"hdrhistogram.output.path", "./", "what their names begin with"},
		{
			"exporter", "", "site.ycsb.measurements.exporter.TextMeasurementsExporter or JSONMeasurementsExporter: YCSB's lines"},
		{"exportfile", "", "file for the exporter's lines"},
		{"debug.pprof", "", "accepted; brunt serves no profiles here"},
		{"status", "", "accepted: intervals are always told"},
		{"label", "", "kept in the record"},
		{"db", "", "accepted: the command names the database"},
		{"dotransactions", "", "set by the command"},
		{"command", "", "set by the command"},
		{"histogram.buckets", "", "accepted: histograms are of HdrHistogram's kind"},
		{"timeseries.granularity", "", "accepted: see measurement.interval"},
	}
}

// unknown returns warnings about properties that have no effect with this database.
func unknown(set *properties.Set, d *Database) []string {
	var names []string
	for _, p := range CoreProperties() {
		names = append(names, p.Name)
	}
	for _, p := range d.Properties {
		names = append(names, p.Name)
	}
	var warnings []string
	for _, key := range set.Keys() {
		switch {
		case slices.Contains(names, key):
		case strings.HasPrefix(key, ";"):
			warnings = append(warnings,
				fmt.Sprintf("%s: ; doesn't begin a comment in property files: the line is ignored; begin it with #",
					set.Where(key)))
		case foreign(key, d):
		default:
			hint := ""
			if best, ok := nearest(key, names); ok {
				hint = fmt.Sprintf("; did you mean %s?", best)
			}
			warnings = append(warnings, fmt.Sprintf("%s: unknown property %s is ignored%s", set.Where(key), key, hint))
		}
	}
	return warnings
}

// foreign reports whether a property belongs to another database. Files may be shared by several databases.
func foreign(key string, d *Database) bool {
	for _, o := range Databases() {
		if o.Names[0] == d.Names[0] {
			continue
		}
		if slices.ContainsFunc(o.Properties, func(p Property) bool { return p.Name == key }) {
			return true
		}
	}
	return false
}

// aliases maps common wrong names to the properties that are meant.
func aliases() map[string]string {
	return map[string]string{
		"threads": "threadcount", "records": "recordcount", "operations": "operationcount",
		"interval": "measurement.interval", "distribution": "requestdistribution",
	}
}

// nearest returns the name that was probably meant.
func nearest(key string, names []string) (string, bool) {
	if name, ok := aliases()[strings.ToLower(key)]; ok {
		return name, true
	}
	best := suggest.Nearest(key, names)
	return best, best != ""
}
