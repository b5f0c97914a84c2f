package confidence

import (
	"math"

	"brunt/internal/message"
	"brunt/internal/record"
	"brunt/internal/stats"
)

// A node is named as slower than its peers if its mean service time is at least so much longer with so much
// confidence, of which all nodes of a run have their share (Bonferroni). What one node does for a moment, such as a
// checkpoint, is in one of the parts only, and widens the interval.
const (
	peersMargin     = 0.10
	peersConfidence = 0.999
	fewestAnswers   = 30 // of a node in each part
)

// slowNodes warns of addresses whose service times are longer than those of the others by more than chance. In every
// part of the run a node's mean is compared with the mean of its peers' means, so that what all have in common, such
// as a load that rises, is in neither; the ratios of the parts have the interval of stats.LogInterval.
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

// ratioToPeers is a node's mean service time in a part over the mean of its peers' means; false if none of them
// answered enough.
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
