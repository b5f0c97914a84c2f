package report

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brunt/internal/render/cell"

	"brunt/internal/record"
	"brunt/internal/render/units"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at it with -update:\n%s", path, got)
	}
}

func TestTerminalGolden(t *testing.T) {
	for name, run := range fixtures() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Terminal(&b, run(), Options{Path: "results/cars-20260301T123005Z"}); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", b.Bytes())
		})
	}
	var narrow, wide, colour bytes.Buffer
	run := fixture(t, "addresses")
	for out, o := range map[*bytes.Buffer]Options{&narrow: {Width: 80}, &wide: {Width: 140},
		&colour: {Width: 100, Color: true}} {
		if err := Terminal(out, run, o); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "addresses-80.txt", narrow.Bytes())
	golden(t, "addresses-140.txt", wide.Bytes())
	golden(t, "addresses-colour.txt", colour.Bytes())
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	for name, build := range fixtures() {
		run := build()
		for _, width := range []int{80, 100, 123, 140} {
			var b bytes.Buffer
			if err := Terminal(&b, run, Options{Width: width, Color: true}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				line = strings.TrimSuffix(escapes.ReplaceAllString(line, ""), "\n")
				if w := cell.Width(line); w > width {
					t.Errorf("%s at %d columns has a line of %d: %q", name, width, w, line)
				}
			}
		}
	}
}

func TestColourChangesNothingElse(t *testing.T) {
	run := fixture(t, "fail")
	var with, without bytes.Buffer
	if err := errors.Join(Terminal(&with, run, Options{Color: true}), Terminal(&without, run, Options{})); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(without.String(), "\x1b") {
		t.Error("escape sequences without colour")
	}
	if got := escapes.ReplaceAllString(with.String(), ""); got != without.String() {
		t.Errorf("text differs with colour:\n%s", got)
	}
}

func TestForeignTextCantControlTheTerminal(t *testing.T) {
	run := fixture(t, "fail")
	evil := "a\x1b[2Jb\r\nc\u202e"
	run.Name, run.Operations[0].Name, run.Failures[0].Text, run.Failures[0].Code = evil, evil, evil, evil
	run.Targets[0].Address, run.Thresholds[0].Text, run.Phases[0].Name = evil, evil, evil
	var b bytes.Buffer
	if err := Terminal(&b, run, Options{}); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexAny(b.String(), "\x1b\r\u202e"); i >= 0 {
		t.Errorf("control characters came through: %q", b.String()[max(i-40, 0):i+10])
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWriteErrorsAreReported(t *testing.T) {
	run := fixture(t, "pass")
	for name, err := range map[string]error{
		"terminal": Terminal(brokenPipe{}, run, Options{}), "json": JSON(brokenPipe{}, run),
		"csv": CSV(brokenPipe{}, run), "markdown": Markdown(brokenPipe{}, run, Options{}),
	} {
		if err == nil {
			t.Errorf("%s: a broken pipe was not noticed", name)
		}
	}
}

// The number of arrivals that fell due is the sum of all fates, including arrivals left over from the warm-up.
func TestFatesSayWhatFellDueBefore(t *testing.T) {
	for offered, want := range map[uint64]string{
		10: "7 ok + 2 failed + 1 unsent",
		8:  "7 ok + 2 failed + 1 unsent, 2 of them due in the warm-up",
	} {
		run := &record.Run{Total: record.Operation{Counts: record.Counts{OK: 7, Failed: 2, Dropped: 1}, Offered: offered}}
		if got := (&writer{run: run, l: units.English}).fates(); got != want {
			t.Errorf("%d due: %q, want %q", offered, got, want)
		}
	}
}

// Operations left over from the warm-up don't make the share of successes more than all of the offered load.
func TestNoMoreThanAllThatWasOffered(t *testing.T) {
	run := fixture(t, "pass")
	run.Total.RatePerS = 1.02 * run.Total.OfferedPerS
	var b bytes.Buffer
	if err := Terminal(&b, run, Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "offered (100 %)") {
		t.Errorf("the share of what was offered:\n%s", b.String())
	}
}
