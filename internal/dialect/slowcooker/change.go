package slowcooker

import (
	"math"
	"strings"
)

// history is how many intervals the change column looks back.
const history = 5

// changeColumn compares an interval's p99 with the mean of the last ones: a sign for each power of
// ten between them, at most three.
type changeColumn struct {
	last []int64 // at most history, the oldest first
	// zeros: the history begins with them, as slow_cooker's does, so that a load that starts up looks
	// like a change.
	zeros bool
}

// next returns the mark of the next interval.
func (c *changeColumn) next(p99 int64) string {
	if c.zeros && c.last == nil {
		c.last = make([]int64, history)
	}
	mark := markOf(c.last, p99)
	if len(c.last) == history {
		c.last = append(c.last[:0], c.last[1:]...)
	}
	c.last = append(c.last, p99)
	return mark
}

func markOf(before []int64, p99 int64) string {
	if len(before) == 0 {
		return ""
	}
	var mean int64
	for _, v := range before {
		mean += v
	}
	mean /= int64(len(before))
	switch {
	case mean == 0 && p99 == 0:
		return ""
	case mean == 0:
		return "+"
	case p99 == 0:
		return "-"
	}
	powers := int(math.Log10(float64(p99)) - math.Log10(float64(mean)))
	if powers < 0 {
		return strings.Repeat("-", min(-powers, 3))
	}
	return strings.Repeat("+", min(powers, 3))
}
