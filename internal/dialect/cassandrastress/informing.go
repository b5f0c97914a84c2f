package cassandrastress

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"brunt/internal/dialect/command"
)

// imitated is the version of cassandra-stress whose commands and options are known.
const imitated = "5.0"

// inform runs the commands that send no load: print, help COMMAND and version. ok is false for others.
func inform(s *command.Env, args []string) (ok bool, err error) {
	if len(args) == 0 {
		return false, nil
	}
	switch strings.ToLower(args[0]) {
	case "version":
		_, err = fmt.Fprintf(s.Out, "Version: %s (brunt %s)\n", imitated, s.Version)
		return true, err
	case "print":
		text, found := "", false
		if rest := joined(args[1:]); len(rest) == 1 {
			text, found = strings.CutPrefix(rest[0], "dist=")
		}
		if !found {
			return true, usageError(s, fmt.Errorf("print: give dist=DISTRIBUTION, such as dist=GAUSSIAN(1..100)"))
		}
		d, err := ParseDistribution(text)
		if err != nil {
			return true, usageError(s, fmt.Errorf("print: %w", err))
		}
		return true, d.table(s.Out)
	case "help", "-?":
		if len(args) != 2 {
			return false, nil
		}
		name := strings.ToLower(args[1])
		for _, u := range usages {
			if u.name == name {
				_, err = fmt.Fprintf(s.Out, "Usage: cassandra-stress %s\n\n%s\n", u.form, u.about)
				return true, err
			}
		}
		var names []string
		for _, u := range usages {
			names = append(names, u.name)
		}
		return true, usageError(s, fmt.Errorf("help: there is no %q: %s are known", args[1], strings.Join(names, ", ")))
	}
	return false, nil
}

// printed are the shares of samples in a table of a distribution.
var printed = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}

// table prints which number shares of all samples don't exceed, and where in the range that is.
func (d *Distribution) table(out io.Writer) error {
	text := "% of samples    Range       % of total\n"
	end := float64(d.Quantile(1)) / 100
	for _, share := range printed {
		x := d.Quantile(share)
		text += fmt.Sprintf("%-16.1f%-12d%12.1f\n", share*100, x, float64(x)/end)
	}
	_, err := io.WriteString(out, text)
	return err
}

// Quantile returns the number that a share of all draws, from 0 to 1, doesn't exceed. That of a mirrored distribution
// is the mirrored number, as cassandra-stress has it.
func (d *Distribution) Quantile(share float64) int64 {
	x := d.quantile(share)
	if d.Inverted {
		return d.Max - (x - d.Min)
	}
	return x
}

func (d *Distribution) quantile(share float64) int64 {
	tail := -math.Log1p(-share) // of an exponential distribution
	switch d.Name {
	case "uniform":
		return d.offset(share * float64(d.Max-d.Min+1))
	case "seq":
		return d.offset(share * float64(d.Max-d.Min))
	case "gaussian":
		x := d.mean + d.deviation*math.Sqrt2*math.Erfinv(2*share-1)
		return int64(math.Min(math.Max(x, float64(d.Min)), float64(d.Max)))
	case "exp":
		return d.offset(d.mean * tail)
	case "extreme":
		return d.offset(d.scale * math.Pow(tail, 1/d.shape))
	case "qextreme":
		parts := len(d.bounds) - 1
		part, found := slices.BinarySearch(d.bounds, d.offset(d.scale*math.Pow(tail, 1/d.shape)))
		if !found || part == parts {
			part--
		}
		within := min(max(share*float64(parts)-float64(part), 0), 1)
		return min(d.bounds[part]+int64(within*float64(d.bounds[part+1]-d.bounds[part])), d.Max)
	}
	return d.Min
}

// usages are what help says about commands and options.
var usages = []struct{ name, form, about string }{
	{"write", "write " + usualForm, "Writes rows of standard1. " + usualAbout},
	{"read", "read " + usualForm, "Reads rows of standard1, which write has made. " + usualAbout},
	{"mixed", "mixed [ratio(write=1,read=1)] [clustering=DIST] " + usualForm, "Writes and reads by weight. " + usualAbout},
	{"counter_write", "counter_write " + usualForm, "Adds 1 to counters of counter1. " + usualAbout},
	{"counter_read", "counter_read " + usualForm, "Reads counters of counter1. " + usualAbout},
	{"user", "user profile=FILE ops(insert=1,QUERY=2) [clustering=DIST] " + usualForm,
		"Sends the inserts and queries of a profile by weight. " + usualAbout},
	{"print", "print dist=DIST", "Prints which number shares of a distribution's draws don't exceed."},
	{"help", "help [COMMAND|OPTION]", "Prints how a command or an option is used."},
	{"version", "version", "Prints the version whose options are known, and brunt's."},
	{"-pop", "COMMAND -pop seq=FIRST..LAST [no-wrap] [read-lookback=DIST] [contents=sorted|shuffled]\n" +
		"       cassandra-stress COMMAND -pop dist=DIST [contents=sorted|shuffled]",
		"Which partitions are used: in order, or drawn. no-wrap ends the load after the last one, read-lookback= reads what\n" +
			"was written last, and contents= orders the rows of a partition."},
	{"-insert", "COMMAND -insert [partitions=DIST] [select-ratio=RATIO] [row-population-ratio=RATIO] [visits=DIST]\n" +
		"       [revisit=DIST] [batchtype=logged|unlogged|counter]",
		"Partitions of an insert, shares of their rows and columns, and over how many inserts their rows are spread."},
	{"-col", "COMMAND -col [n=FIXED(5)] [size=DIST] [names=NAME,…]", "The columns of the predefined tables."},
	{"-rate", "COMMAND -rate threads=N [throttle=N/s|fixed=N/s]\n" +
		"       cassandra-stress COMMAND -rate [threads>=N] [threads<=N] [auto]",
		"Sessions, and partitions a second; or runs with more and more sessions."},
	{"-mode", "COMMAND -mode [native] [cql3] [unprepared] [compression=none|lz4|snappy] [user=NAME] [password=WORD]",
		"How statements are sent."},
	{"-errors", "COMMAND -errors [retries=9] [ignore]", "What follows failures."},
	{"-schema", "COMMAND -schema [replication(factor=1,strategy=NAME)] [keyspace=NAME] [compaction(strategy=NAME)]",
		"The keyspace and the predefined tables."},
	{"-node", "COMMAND -node HOST[,HOST]…", "The nodes."},
	{"-port", "COMMAND -port [native=9042]", "The port of nodes without one."},
	{"-tokenrange", "COMMAND -tokenrange [wrap] [split-factor=1]",
		"Whether ranges of tokens are begun again, and into how many parts each is split."},
	{"-graph", "COMMAND -graph file=FILE [revision=NAME] [title=TEXT] [op=NAME]", "A page about the run, in HTML."},
	{"-log", "COMMAND -log [interval=1s] [no-summary] [file=FILE] [hdrfile=FILE]",
		"How often lines are printed, and files that get them or histograms too."},
}

const (
	usualForm  = "[n=N|duration=TIME|err<SHARE n>N n<N] [cl=LEVEL] [truncate=never|once|always] [no-warmup] [OPTION]…"
	usualAbout = "n= counts partitions; duration= is 30s, 10m or 1h; err< is the uncertainty of the rate."
)
