package acceptance_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/test/shell"
)

// streamPlan fills one table and sends INSERTs with generated parameters into another, so that the loaded and the sent
// rows can be read back.
const streamPlan = `
config_name: STREAM
seed: 42
tables_schema:
  - name: filled
    row_count: 400
    columns:
      - {name: id, type: Integer, range: [1, 400], unique: true}
      - {name: word, type: String, range: [1, 12], alphabet: [en, ru], distribution: Zipf}
      - {name: share, type: Double, range: [0, 1], distribution: Normal}
      - {name: price, type: Decimal, range: [0, 900], scale: 2, distribution: Exponential}
      - {name: seen, type: Datetime, range: ['1999-01-01', '2029-12-31']}
      - {name: mark, type: UUID}
      - {name: on_sale, type: Boolean}
      - {name: note, type: String, is_nullable: true, null_percentage: 40}
    primary_keys: [id]
  - name: landed
    columns:
      - {name: n, type: Integer, range: [1, 1000000], unique: true}
      - {name: id, type: Integer}
      - {name: word, type: String}
      - {name: share, type: Double}
      - {name: seen, type: Datetime}
      - {name: on_sale, type: Boolean}
    primary_keys: [n]
queries:
  - name: one
    sql: insert into landed (n, id, word, share, seen, on_sale) values ($1, $2, $3, $4, $5, $6)
    params: &parameters
      - {type: Integer, range: [1, 500000], unique: true}
      - {type: Reference, table: filled, column: id, distribution: Zipf}
      - {type: Reference, table: filled, column: word}
      - {type: Double, range: [-5, 5], distribution: Normal}
      - {type: Datetime, range: ['2020-01-01', '2020-12-31']}
      - {type: Boolean}
    count: 300
  - name: two
    sql: insert into landed (n, id, word, share, seen, on_sale) values ($1 + 500000, $2, $3, $4, $5, $6)
    params: *parameters
    count: 100
`

// The same seed produces the same rows and the same requests for every server, number of sessions and tier. A different
// seed shows that the comparison can fail.
func TestSameSeedSameRowsAndRequests(t *testing.T) {
	t.Parallel()
	plan := shell.File(t, "stream.yml", streamPlan)
	var filled, landed []string
	from := ""
	for _, c := range []struct {
		stand func(*testing.T) stand
		tiers []string
	}{
		{postgres, []string{"codec", "library"}},
		{tarantool, []string{"codec", "library"}},
		{sqlite, []string{"library"}},
	} {
		s := c.stand(t)
		for _, tier := range c.tiers {
			for _, sessions := range []string{"1", "8"} {
				name := s.proto + " " + tier + " " + sessions
				gotFilled, gotLanded := s.stream(t, plan, "42", tier, sessions)
				if filled == nil {
					filled, landed, from = gotFilled, gotLanded, name
					if len(filled) != 400 || len(landed) != 400 {
						t.Fatalf("%s: %d rows were filled and %d sent", name, len(filled), len(landed))
					}
					continue
				}
				differ(t, "rows", from, filled, name, gotFilled)
				differ(t, "requests", from, landed, name, gotLanded)
			}
		}
	}
	otherFilled, otherLanded := sqlite(t).stream(t, plan, "43", "library", "1")
	if slices.Equal(filled, otherFilled) || slices.Equal(landed, otherLanded) {
		t.Error("another seed gave the same")
	}
}

// stream runs streamPlan and returns the contents of its tables in canonical form.
func (s stand) stream(t *testing.T, plan, seed, tier, sessions string) (filled, landed []string) {
	t.Helper()
	o := load(t, s.with("queue", "-c", plan, "--vu", sessions, "--tier", tier, "--seed", seed, "--timeout", "2m",
		"--quiet", "--no-teardown")...)
	if o.run == nil || o.run.Total.OK != 400 || o.run.Total.Failed != 0 || !judged(o.code) {
		t.Fatalf("%s %s %s: exit %d\n%s%s", s.proto, tier, sessions, o.code, o.out, o.err)
	}
	if o.run.Tier != tier {
		t.Fatalf("ran on the %s tier, not on %s", o.run.Tier, tier)
	}
	filled = s.rows(
		t, `SELECT "id", "word", "share", "price", "seen", "mark", "on_sale", "note" FROM "filled" ORDER BY "id"`)
	landed = s.rows(t, `SELECT "n", "id", "word", "share", "seen", "on_sale" FROM "landed" ORDER BY "n"`)
	canonical(t, s.proto, filled, 4, 6, 2, 3)
	canonical(t, s.proto, landed, 4, 5, 3)
	if down := brunt(t, s.with("schema", "down", "-c", plan)...); down.code != 0 {
		t.Fatalf("schema down: exit %d", down.code)
	}
	return filled, landed
}

// canonical brings the values of rows that servers show differently into one form: a time, a
// boolean and numbers, at these places.
func canonical(t *testing.T, proto string, rows []string, times, booleans int, numbers ...int) {
	t.Helper()
	for i, r := range rows {
		v := strings.Split(r, " | ")
		v[times] = strconv.FormatInt(instant(t, v[times]).UnixMicro(), 10)
		switch v[booleans] {
		case "t", "true", "TRUE", "1":
			v[booleans] = "true"
		case "f", "false", "FALSE", "0":
			v[booleans] = "false"
		default:
			t.Fatalf("%s: %q is not a boolean", proto, v[booleans])
		}
		for _, n := range numbers {
			x, err := strconv.ParseFloat(v[n], 64)
			if err != nil {
				t.Fatal(err)
			}
			v[n] = strconv.FormatFloat(x, 'g', -1, 64)
		}
		rows[i] = strings.Join(v, " | ")
	}
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	if us, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMicro(us)
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999Z07",
		"2006-01-02 15:04:05.999999Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	t.Fatalf("%q is not a time", text)
	return time.Time{}
}

func differ(t *testing.T, what, aName string, a []string, bName string, b []string) {
	t.Helper()
	if slices.Equal(a, b) {
		return
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("%s differ at %d:\n%s: %s\n%s: %s", what, i, aName, a[i], bName, b[i])
			return
		}
	}
	t.Errorf("%s: %s has %d, %s %d", what, aName, len(a), bName, len(b))
}

// The result of proving that the rows are complete depends neither on the server nor on the number of workers.
func TestSameRowsAreProved(t *testing.T) {
	t.Parallel()
	plan := shell.File(t, "stream.yml", streamPlan)
	sums := map[string]string{}
	for _, s := range []stand{postgres(t), tarantool(t), sqlite(t)} {
		for _, workers := range []string{"1", "3"} {
			checkpoint := t.TempDir() + "/load"
			up := brunt(t, s.with("schema", "up", "-c", plan, "--check", "full", "--workers", workers, "--checkpoint",
				checkpoint)...)
			down := brunt(t, s.with("schema", "down", "-c", plan)...)
			if up.code != 0 || down.code != 0 {
				t.Fatalf("%s: exits %d, %d", s.proto, up.code, down.code)
			}
			if !strings.Contains(up.out, "checked by full") {
				t.Errorf("%s: not verified:\n%s", s.proto, up.out)
			}
			_, after, found := strings.Cut(up.out, "checksum ")
			if !found {
				t.Fatalf("no checksum:\n%s", up.out)
			}
			sums[fmt.Sprint(s.proto, " ", workers)] = after[:strings.IndexByte(after, ',')]
		}
	}
	if sums["pg 1"] != sums["pg 3"] || sums["iproto 1"] != sums["iproto 3"] || sums["sqlite 1"] != sums["sqlite 3"] {
		t.Errorf("the checksum depends on the workers: %v", sums)
	}
}
