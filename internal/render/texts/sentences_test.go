package texts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/units"
)

// speaking are the rooms and files whose sentences come into reports by way of records and results: in
// warnings, reasons, remedies, notes, findings and advice.
var speaking = []string{
	"compare", "history", "verdict", "within", "runner", "observe", "export/exporter.go", "export/pusher.go", "k6x/session", "record", "program", "program/campaign",
	"inspect", "inspect/postgres", "inspect/advise", "spool/spool.go", "schema", "target", "engine/loop/fleet_linux.go",
	"protocol/http/driver.go",
}

// silent are texts of those rooms that are in no report, and why. What is in it must be there.
var silent = map[string]string{
	"exit status 0": "compared with what a command ends with",
	"Unit req/s better=higher\nUnit errors better=lower\n":                                                       "a format",
	"about %s runs on each side would settle it":                                                                 "JUnit's, which is English",
	"%s versions: changes show from about %s on":                                                                 "JUnit's, which is English",
	"use influx=URL, prometheus=URL or otlp=URL":                                                                 "of an error",
	"use host, pid:N, tree:N, url:ADDRESS, node:ADDRESS or cgroup:FOLDER":                                        "of an error",
	"name a folder such as /sys/fs/cgroup/system.slice/NAME.service, or in version 1 /sys/fs/cgroup/memory/NAME": "of an error",
	"figures of a process, of Go, the JVM, .NET or Node.js":                                                      "of an error",
	"figures of a machine, as node_exporter gives them":                                                          "of an error",
	"memory cpu cpuacct pids blkio cpuset devices freezer hugetlb net_cls net_prio perf_event rdma misc systemd": "names of controllers",
	"Max open files": "of /proc", "model name": "of /proc",
	"executing a statement that writes, to explain it, in a transaction that is rolled back": "told while the run goes on",
	"name another folder with --results or --bundle":                                         "of an error", "make it writable or name another folder with --results or --bundle": "of an error",
	"for k6 the folder is BRUNT_RESULTS, or keep no record: -o brunt=none": "of an error",
	"some of it may not survive a power failure":                           "of an error", "its last intervals are missing": "of an error", "totals in": "of an error", "are whole": "of an error",
	"#[Histogram log format version 1.3]\n#[StartTime: %s (seconds since epoch), %s]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n": "a format",
	"check the address, the protocol and the credentials": "of an error", "check the address and the credentials": "of an error", "mend the statement, or create what it needs with brunt schema up": "of an error",
	"say what the parameters are by casts such as $1::integer": "of an error", "brunt didn't create it (table %s doesn't say so)": "schema down's",
	"brunt filled it, but didn't create it": "schema down's", "brunt didn't create it": "of an error", "whether brunt created it can't be known (table %s can't be read)": "of an error",
	"This run's UUIDs for \"%s\" of table \"%s\" are those of a table with %s rows beyond the plan's. A repetition asks anew.": "a remark in a plan",
	"This run's sequence for \"%s\" of table \"%s\" began with %s: the greatest there was %s. A repetition asks anew.":         "a remark in a plan",
	"no row": "a remark in a plan", "brunt: note": "told while the run goes on", "brunt: verdict": "told at the end of k6", "brunt: brunt report": "told at the end of k6", "brunt: metrics at http://": "told while the run goes on",
}

// code are texts for databases.
var code = regexp.MustCompile(`^(\.pg_|'|::|select |set |begin |prepare |deallocate |create index |savepoint |rollback | tablesample | is not null| from |format json|, analyze|double precision|character varying|timestamp )`)

// prose is what sentences look like: two words of lower case next to each other.
var prose = regexp.MustCompile(`(^|[^\w])[a-z][a-z']+[,;:]? [a-z']+`)

// proseOf are the literals of a room or file that read like sentences, apart from errors, which are English
// wherever they are printed.
func proseOf(t *testing.T, room string) map[string]string {
	t.Helper()
	pattern := filepath.Join("../..", room)
	if !strings.HasSuffix(room, ".go") {
		pattern = filepath.Join(pattern, "*.go")
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", room, err)
	}
	out := map[string]string{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				// Of drivers only why event loops don't take a load.
				return !strings.HasPrefix(room, "driver/") || n.Name.Name == "Takes"
			case *ast.ImportSpec:
				return false
			case *ast.Field:
				return n.Tag == nil
			case *ast.CallExpr:
				// Errors, and what another test finds.
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Errorf", "New", "In", "Plural"}, s.Sel.Name) {
					return false
				}
			case *ast.BasicLit:
				if n.Kind != token.STRING {
					return false
				}
				if s, err := strconv.Unquote(n.Value); err == nil && prose.MatchString(s) && !code.MatchString(s) {
					out[s] = fset.Position(n.Pos()).String()
				}
			}
			return true
		})
	}
	return out
}

// shape is a format with all placeholders alike.
func shape(format string) string {
	format = strings.ReplaceAll(format, "%q", `"%s"`)
	format = verbs.ReplaceAllString(format, "%s")
	return strings.ReplaceAll(format, "%s %%", "%s")
}

// Whoever adds a sentence to a warning, a reason or a note adds it in Russian too.
func TestEverySentenceOfRecordsHasRussian(t *testing.T) {
	var catalogue []string
	for english := range maps.Keys(joined(russian, russianSentences)) {
		catalogue = append(catalogue, shape(english))
	}
	// A piece is known if a sentence has all of it between placeholders, which pieces may fill, in order.
	known := func(piece string) bool {
		return slices.ContainsFunc(catalogue, func(sentence string) bool {
			for part := range strings.SplitSeq(piece, "%s") {
				_, after, found := strings.Cut(sentence, strings.TrimSpace(part))
				if !found {
					return false
				}
				sentence = after
			}
			return true
		})
	}
	quiet, seen, used := map[string]bool{}, 0, map[string]bool{}
	for s := range silent {
		quiet[s] = true
	}
	for _, room := range speaking {
		for text, at := range proseOf(t, room) {
			for piece := range strings.SplitSeq(shape(text), "; ") {
				piece = strings.Trim(piece, " ;:,.")
				seen++
				switch {
				case quiet[piece] || quiet[shape(text)]:
					used[piece], used[shape(text)] = true, true
				case !known(piece):
					t.Errorf("%s: there is no Russian for %q", at, piece)
				}
			}
		}
	}
	if seen < 200 {
		t.Errorf("only %d sentences were found", seen)
	}
	for s := range silent {
		if !used[s] {
			t.Errorf("nobody says %q", s)
		}
	}
}

// latin are words in Latin letters.
var latin = regexp.MustCompile(`[A-Za-z][A-Za-z'’]+`)

// Russian texts are in Russian.
func TestRussianIsRussian(t *testing.T) {
	for english, r := range joined(russian, russianSentences) {
		if plain := verbs.ReplaceAllString(r, ""); !regexp.MustCompile(`[а-яё]`).MatchString(strings.ToLower(plain)) && latin.MatchString(plain) && shape(english) != shape(r) {
			t.Errorf("%q is %q", english, r)
		}
	}
}

// Sentences that rooms put together of parts are recognized as a whole.
func TestSentencesPutTogether(t *testing.T) {
	for _, english := range []string{
		"2 of 6 runs are invalid, first results/a: the generator itself sent late: 6.7 ms of the p99 of response time, 8 ms, are its own, at most 2 ms would do; leave them out",
		"1 of 6 runs is invalid, first results/a: its record says no reason; leave them out; --anyway takes them all the same",
		"1 of 4 runs has no successful operation, first results/b",
		"2 of 4 runs don't go with results/a, first results/b: they have different plans: load, queries",
		"1 of 4 runs doesn't go with results/a, first results/b: they were sent by different machines: processor A and B",
		"results/a was killed or interrupted: its figures are up to its last interval",
		"seeds differ (7 → 9): other requests were sent",
		"worse for sure, but whether by more than the tolerance is open",
		"no interval, judged by ranks: a ratio needs values above 0, one is 0",
		"an interval of the median at 95 % needs at least 6 runs, there are 5",
		"the rate of a run depends on the run before it (lag-1 autocorrelation 0.71): intervals may be too narrow; restore the same state before every run",
		"table cars was filled with seed 7, this plan asks with seed 9: references may ask for rows that aren't there",
		"brunt schema down, then brunt schema up, make it anew; or give the seed that it has",
		"an event loop was busy above 95 % of a core in 40 % of the time, so the closed load measured the generator; add event loops (--loops), or use more machines",
		"2.3 % of the operations failed, and without thresholds less than 1 % may; allow more with --threshold 'errors < 5%', say",
		"only 80 % of the rate asked for was sent in time, and without thresholds it must be 95 %; lower the rate, or give more sessions (--vu), or say what may happen with --threshold 'dropped < 20%'",
		"nothing succeeded: 10 failed, 3 were never sent; see the errors and try one operation by hand",
		"the run stopped itself: threshold \"errors < 1%\" failed after 3s",
		"12 of 40 intervals did not reach influx: it was too slow",
		"3 report lines were not printed: stdout didn't take them",
		"6 samples; 24 are needed", "20 s; 180 are needed to tell a leak from a start",
		"line 3 of results/a/intervals.ndjson can't be read: what happened then is missing from these figures",
		"results/a/intervals.ndjson holds 10 of the run's 20 arrivals: figures made of the intervals differ from those of the run",
		"the disk of results/a was full while the run was recorded; intervals waited in memory",
		"the rate is 92 % of this machine's measured ceiling of 85,000/s",
		"cars: 12.0 % of the operations found no row, though they ask for rows of cars: brunt didn't fill table cars, so whether its rows are the plan's isn't known",
		"the foreign key f has no index: nothing was deleted from cars in this run, so it didn't cost time yet",
		"k6 dropped 10 of 100 iterations (10 %), because all VUs that it may use were busy: the load was more than they could carry, and what would have waited longest was never sent",
	} {
		r := Sentence(units.Russian, english)
		for _, word := range latin.FindAllString(r, -1) {
			if !slices.Contains(strings.Fields("results intervals ndjson cars errors dropped vu loops threshold influx stdout load queries brunt schema up down VU anyway"), word) {
				t.Errorf("%q: %q is left in %q", english, word, r)
			}
		}
	}
}
