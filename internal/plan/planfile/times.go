package planfile

import (
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan/planfile/form"
)

// mostMs is the latest time of a listed arrival, in ms.
const mostMs = float64(math.MaxInt64/int64(time.Millisecond)) / 2

// timesForm returns the form of the arrivals of a listed phase: a text of ascending times in ms.
func timesForm() form.Form {
	read := func(r *form.Reader, key string, n *yaml.Node, to *[]time.Duration) {
		if n.Kind != yaml.ScalarNode {
			r.ProblemAt(n, "write the times in ms, such as \"0 12.5 30\"", "%s is no text of times", key)
			return
		}
		times := []time.Duration{}
		for word := range strings.FieldsSeq(n.Value) {
			ms, err := strconv.ParseFloat(word, 64)
			if err != nil || !(ms >= 0 && ms <= mostMs) {
				r.ProblemAt(n, "write the times in ms, such as \"0 12.5 30\"", "%s: %.20q is no time", key, word)
				return
			}
			times = append(times, time.Duration(math.Round(ms*1e6)))
		}
		if len(times) == 0 {
			r.ProblemAt(n, "write at least one time in ms", "%s is empty", key)
		}
		*to = times
	}
	write := func(times *[]time.Duration) *yaml.Node {
		if len(*times) == 0 {
			return nil
		}
		var b []byte
		for i, at := range *times {
			if i > 0 {
				b = append(b, ' ')
			}
			b = strconv.AppendFloat(b, float64(at)/1e6, 'f', -1, 64)
		}
		return form.Text(string(b))
	}
	return form.Custom[[]time.Duration]{In: read, Out: write, As: form.Words{}.Schema}
}
