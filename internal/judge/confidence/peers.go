package confidence

import (
	"math"

	"brunt/internal/base/stats"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// A warning names an address as slower than its peers if, with this confidence, its mean service time is longer by at
// least this margin. The confidence is shared by all addresses of the run (Bonferroni). A short slowdown of one
// address, such as a checkpoint, affects only one of the parts, and widens the interval.
const (
	peersMargin     = 0.10
	peersConfidence = 0.999
	fewestAnswers   = 30 // of an address in each part
)

// slowNodes returns warnings about addresses whose service times are longer than those of the others, beyond chance. In
// each part of the run it divides an address's mean by the mean of its peers' means, so that common changes, such as a
// rising load, cancel out. The interval of the parts' ratios is that of stats.LogInterval.
func slowNodes(run *record.Run, of []*sections) (warnings []record.Warning) {
	if len(of) < 2 {
		return nil
	}
	confidence := 1 - (1-peersConfidence)/float64(len(of))
	for i, s := range of {
		var ratios []float64
		for part := range parts {
			if ratio, ok := ratioToPeers(of, i, part); ok && s.counts[part] >= fewestAnswers {
				ratios = append(ratios, ratio)
			}
		}
		if len(ratios) < parts {
			continue
		}
		longer, err := stats.LogInterval(ratios, confidence)
		if err != nil || math.IsNaN(longer.Low) || longer.Low < 1+peersMargin {
			continue
		}
		warnings = append(warnings, record.Notice("slow-node", message.Text("address", run.Targets[i].Address),
			message.Share("longer", longer.Value-1), message.Share("low", longer.Low-1),
			message.Share("high", longer.High-1)))
	}
	return warnings
}

// ratioToPeers returns an address's mean service time in a part divided by the mean of its peers' means; false if no
// peer has enough answers.
func ratioToPeers(of []*sections, node, part int) (ratio float64, ok bool) {
	sum, n := 0.0, 0
	for k, s := range of {
		if k != node && s.counts[part] >= fewestAnswers {
			sum += s.answers[part][0]
			n++
		}
	}
	if n == 0 || sum == 0 {
		return 0, false
	}
	return of[node].answers[part][0] * float64(n) / sum, true
}
