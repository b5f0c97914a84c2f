package output

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/measure"
)

// sample returns the part of go-ycsb's output after the line with the run's duration; see testdata/goycsb/README.
func sample(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "goycsb", name))
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(data), "Run finished, takes ")
	if !ok {
		t.Fatalf("%s has no result", name)
	}
	_, after, _ = strings.Cut(after, "\n")
	return after
}

// like returns results with the counts and latencies of a plain result of go-ycsb, with one value for each quantile.
func like(t *testing.T) *Results {
	t.Helper()
	r := NewResults()
	r.Elapsed(2_783_832_419)
	for _, line := range strings.Split(strings.TrimSpace(sample(t, "output-plain.txt")), "\n") {
		name := strings.Fields(line)[0]
		h := measure.NewHistogram()
		for _, m := range regexp.MustCompile(`\(us\): (\d+)`).FindAllStringSubmatch(line, -1) {
			us, err := strconv.ParseInt(m[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			h.Record(us * 1000)
		}
		r.Merge(name, "", h)
	}
	return r
}

var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// shape returns a text with every number replaced, so that texts that differ only in numbers are equal.
func shape(s string) string {
	s = regexp.MustCompile(`99\.99th|99\.9th|[0-9]+th`).ReplaceAllStringFunc(s, func(q string) string {
		return strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' {
				return 'a' + c - '0'
			}
			return c
		}, q)
	})
	return number.ReplaceAllString(s, "0")
}

func TestResultsHaveGoYCSBsShape(t *testing.T) {
	for _, style := range []string{"plain", "json"} {
		var b bytes.Buffer
		if err := like(t).Write(&b, style); err != nil {
			t.Fatal(err)
		}
		if got, want := shape(b.String()), shape(sample(t, "output-"+style+".txt")); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", style, got, want)
		}
	}
}

// TestTableIsGoYCSBs prints the numbers of a table that go-ycsb printed.
func TestTableIsGoYCSBs(t *testing.T) {
	want := sample(t, "output-table.txt")
	var rows [][]string
	for _, line := range strings.Split(want, "\n")[3:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		var row []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		rows = append(rows, row)
	}
	var b bytes.Buffer
	writeTable(&b, rows)
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestNumbersAreThoseRecorded(t *testing.T) {
	r := NewResults()
	h := measure.NewHistogram()
	for us := int64(1); us <= 1000; us++ {
		h.Record(us*1000 + 400)
	}
	r.Merge("READ", Total, h)
	r.Elapsed(2_000_000_000)
	var b bytes.Buffer
	if err := r.Write(&b, "plain"); err != nil {
		t.Fatal(err)
	}
	want := "READ   - Takes(s): 2.0, Count: 1000, OPS: 500.0, Avg(us): 500, Min(us): 1, Max(us): 1000, 50th(us): 500, 90th(us): 900, 95th(us): 950, 99th(us): 990, 99.9th(us): 999, 99.99th(us): 1000\n"
	if !strings.HasPrefix(b.String(), want) || !strings.Contains(b.String(), "\nTOTAL  - Takes(s): 2.0, Count: 1000,") {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestNothingIsWrittenOfNothing(t *testing.T) {
	for _, style := range []string{"plain", "json", "table"} {
		var b bytes.Buffer
		if err := NewResults().Write(&b, style); err != nil || b.Len() > 0 {
			t.Errorf("%s: %v %q", style, err, b.String())
		}
	}
}

// memory stores files.
type memory map[string]*bytes.Buffer

type memoryFile struct{ *bytes.Buffer }

func (memoryFile) Close() error { return nil }

func (m memory) open(name string) (io.WriteCloser, error) {
	m[name] = &bytes.Buffer{}
	return memoryFile{m[name]}, nil
}

func TestPercentileFilesHaveGoYCSBsShape(t *testing.T) {
	files := memory{}
	var said bytes.Buffer
	r := like(t)
	if err := r.Percentiles(&said, "p/", files.open); err != nil {
		t.Fatal(err)
	}
	if want := "Exporting the full latency spectrum for operation 'READ' in percentile output format into file: p/READ-percentiles.txt.\n"; !strings.HasPrefix(said.String(), want) {
		t.Errorf("said %q", said.String())
	}
	if !strings.Contains(sample(t, "output-percentiles.txt"),
		"Exporting the full latency spectrum for operation 'READ' in percentile output format into file: ./READ-percentiles.txt.\n") {
		t.Error("go-ycsb says it in other words")
	}
	theirs, err := os.ReadFile(filepath.Join("..", "testdata", "goycsb", "READ-percentiles.txt"))
	if err != nil {
		t.Fatal(err)
	}
	ours := files["p/READ-percentiles.txt"].String()
	column := regexp.MustCompile(`(?m)^ *[0-9.]+ +[0-9.]+ +[0-9]+ +([0-9.]+|inf)$`)
	if a, b := len(column.FindAllString(ours, -1)), len(column.FindAllString(string(theirs), -1)); a < 5 || b < 5 {
		t.Errorf("%d lines of numbers, theirs %d", a, b)
	}
	cut := func(s string) string { return shape(column.ReplaceAllString(s, "")) }
	strip := func(s string) string { return regexp.MustCompile(`[ \n]+`).ReplaceAllString(cut(s), " ") }
	if strip(ours) != strip(string(theirs)) {
		t.Errorf("got\n%s\nwant\n%s", ours, theirs)
	}
}

func TestRawHasGoYCSBsShape(t *testing.T) {
	r := &Raw{}
	r.Add("READ", true, 999_999, 2_000_000)
	r.Add("UPDATE", true, 5_000_000, 1_999_999)
	r.Add("READ", true, 1_000_000, 2_000_000)
	r.Add("READ_ERROR", false, 3_000_000, 7_000)
	var b bytes.Buffer
	if err := r.Write(&b, 1_000_000, 1_700_000_000_000_000_000); err != nil {
		t.Fatal(err)
	}
	want := `operation,timestamp_us,latency_us
READ,1700000000001000,2000
READ_ERROR,1700000000003000,7
UPDATE,1700000000005000,1999
TOTAL,1700000000005000,1999
TOTAL,1700000000001000,2000
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
	theirs, err := csv.NewReader(strings.NewReader(sample(t, "output-raw.txt"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(theirs[0], ",")+"\n" != want[:len("operation,timestamp_us,latency_us\n")] {
		t.Errorf("go-ycsb's header is %v", theirs[0])
	}
	total := 0
	for _, row := range theirs[1:] {
		if row[0] == Total {
			total++
		}
	}
	if 2*total != len(theirs)-1 {
		t.Errorf("go-ycsb says %d of %d in TOTAL", total, len(theirs)-1)
	}
}

func TestYCSBsExporters(t *testing.T) {
	r := NewResults()
	h := measure.NewHistogram()
	h.RecordN(1_000_000, 4)
	r.Merge("READ_MODIFY_WRITE", "", h)
	r.Merge("READ", Total, h)
	r.Merge("UPDATE_ERROR", "", h)
	r.Elapsed(2_000_000_000)
	var text, objects bytes.Buffer
	if err := r.WriteYCSB(&text, "text"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[OVERALL], RunTime(ms), 2000\n[OVERALL], Throughput(ops/sec), 2\n", "[READ], Operations, 4\n",
		"[READ], 99thPercentileLatency(us), 1000\n",
		"[READ], Return=OK, 4\n", "[READ-MODIFY-WRITE], Operations, 4\n", "[UPDATE-FAILED], Return=ERROR, 4\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if err := r.WriteYCSB(&objects, "json"); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&objects)
	n := 0
	for d.More() {
		var o struct {
			Metric, Measurement string
			Value               float64
		}
		if err := d.Decode(&o); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != strings.Count(text.String(), "\n") {
		t.Errorf("%d objects for %d lines", n, strings.Count(text.String(), "\n"))
	}
}

func TestLogsCanBeReadBack(t *testing.T) {
	files := memory{}
	l := &Logs{Prefix: "x-", Open: files.open}
	h := measure.NewHistogram()
	h.RecordN(5_000_000, 3)
	for i := range int64(2) {
		if err := l.Add("READ", 1_700_000_000_500_000_000+i*1_000_000_000, 1_000_000_000, h); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Add("SCAN", 0, 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil || len(files) != 1 {
		t.Fatal(len(files), err)
	}
	lines := strings.Split(strings.TrimSpace(files["x-READ.hlog"].String()), "\n")
	if len(lines) != 6 || lines[0] != "#[Histogram log format version 1.2]" ||
		lines[1] != "#[StartTime: 1700000000.500 (seconds since epoch)]" {
		t.Fatalf("%q", lines)
	}
	part := strings.Split(lines[5], ",")
	if part[0] != "1.000" || part[1] != "1.000" || part[2] != "5.000" {
		t.Errorf("%q", part[:3])
	}
	packed, err := base64.StdEncoding.DecodeString(part[3])
	if err != nil {
		t.Fatal(err)
	}
	back := measure.NewHistogram()
	if err := new(measure.HDRDecoder).DecodeInto(back, packed); err != nil || back.Count() != 3 {
		t.Errorf("%d values, %v", back.Count(), err)
	}
}

// Results in each style can be read, both those of go-ycsb and those of this package.
func TestEveryStyleIsReadBack(t *testing.T) {
	for _, style := range []string{"plain", "json", "table"} {
		t.Run(style, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "testdata", "goycsb", "output-"+style+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			var own bytes.Buffer
			if err := like(t).Write(&own, style); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string][]byte{"all that go-ycsb prints": text,
				"its result": []byte(sample(t, "output-"+style+".txt")), "our own": own.Bytes()} {
				if !isResult(bytes.TrimSpace(text), nil) {
					t.Errorf("%s isn't recognized", name)
				}
				r, err := ParseResult(bytes.TrimSpace(text))
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				for _, operation := range []string{"", "READ", "READ_MODIFY_WRITE", "UPDATE"} {
					for _, metric := range []string{"rate", "count", "response.avg", "response.p(99)"} {
						if m := r.Find(metric, operation); m == nil || !(m.Value > 0) {
							t.Errorf("%s: %s of %q is %+v", name, metric, operation, m)
						}
					}
				}
				if n := r.Find("count", "READ").Value; name != "our own" && n != 3000 {
					t.Errorf("%s: %v reads: not those of the whole run", name, n)
				}
			}
		})
	}
}
