package postgres

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

// node is a step of a plan as EXPLAIN (FORMAT JSON, VERBOSE) writes it. Rows and times are means per loop. A
// parallel plan has one loop per process.
type node struct {
	Type        string   `json:"Node Type"`
	Parallel    bool     `json:"Parallel Aware"`
	Schema      string   `json:"Schema"`
	Relation    string   `json:"Relation Name"`
	Alias       string   `json:"Alias"`
	Index       string   `json:"Index Name"`
	Operation   string   `json:"Operation"`
	JoinType    string   `json:"Join Type"`
	Strategy    string   `json:"Strategy"`
	Cost        float64  `json:"Total Cost"`
	PlanRows    float64  `json:"Plan Rows"`
	Rows        float64  `json:"Actual Rows"`
	TimeMs      float64  `json:"Actual Total Time"`
	Loops       *float64 `json:"Actual Loops"` // nil if the statement wasn't executed
	Removed     float64  `json:"Rows Removed by Filter"`
	Filter      string   `json:"Filter"`
	IndexCond   string   `json:"Index Cond"`
	RecheckCond string   `json:"Recheck Cond"`
	HashCond    string   `json:"Hash Cond"`
	MergeCond   string   `json:"Merge Cond"`
	JoinFilter  string   `json:"Join Filter"`
	SortKey     []string `json:"Sort Key"`
	GroupKey    []string `json:"Group Key"`
	SortMethod  string   `json:"Sort Method"`
	SortKB      float64  `json:"Sort Space Used"`
	SortSpace   string   `json:"Sort Space Type"`
	Batches     float64  `json:"Hash Batches"`
	PeakKB      float64  `json:"Peak Memory Usage"`
	DiskKB      float64  `json:"Disk Usage"`
	Plans       []*node  `json:"Plans"`
}

// explained is the answer of EXPLAIN.
type explained struct {
	Root        *node   `json:"Plan"`
	ExecutionMs float64 `json:"Execution Time"`
	text        string  // the whole answer, in JSON
}

func parsePlan(text string) (*explained, error) {
	var all []explained
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	if len(all) != 1 || all[0].Root == nil {
		return nil, fmt.Errorf("read the plan: %d plans, not one", len(all))
	}
	all[0].Root.prune()
	all[0].text = text
	return &all[0], nil
}

// prune removes nil children, which only malformed input contains.
func (n *node) prune() {
	n.Plans = slices.DeleteFunc(n.Plans, func(c *node) bool { return c == nil })
	for _, c := range n.Plans {
		c.prune()
	}
}

func (n *node) loops() float64 {
	if n.Loops == nil {
		return 1
	}
	return *n.Loops
}

// table returns the relation's name with its schema.
func (n *node) table() string {
	if n.Schema == "" {
		return n.Relation
	}
	return n.Schema + "." + n.Relation
}

// walk calls f for a node and all nodes below it, parents first.
func (n *node) walk(f func(n *node, depth int)) { n.walkFrom(0, f) }

func (n *node) walkFrom(depth int, f func(*node, int)) {
	f(n, depth)
	for _, c := range n.Plans {
		c.walkFrom(depth+1, f)
	}
}

// text describes the node in the words of psql.
func (n *node) text() string {
	kind := n.Type
	switch {
	case n.Operation != "" && n.Type == "ModifyTable":
		kind = n.Operation
	case n.JoinType != "" && n.JoinType != "Inner":
		kind = strings.TrimSuffix(kind, " Join") + " " + n.JoinType + " Join"
	case n.Type == "Aggregate" && n.Strategy == "Hashed":
		kind = "HashAggregate"
	case n.Type == "Aggregate" && n.Strategy == "Sorted":
		kind = "GroupAggregate"
	}
	if n.Parallel {
		kind = "Parallel " + kind
	}
	if n.Index != "" {
		kind += " using " + n.Index
	}
	if n.Relation != "" {
		kind += " on " + n.Relation
		if n.Alias != "" && n.Alias != n.Relation {
			kind += " " + n.Alias
		}
	}
	return kind
}

// detail returns the conditions and sort order of the node.
func (n *node) detail() string {
	var parts []string
	for _, d := range []struct{ name, text string }{
		{"Index Cond", n.IndexCond}, {"Hash Cond", n.HashCond}, {"Merge Cond", n.MergeCond}, {"Join Filter", n.JoinFilter},
		{"Filter", n.Filter}, {"Sort Key", strings.Join(n.SortKey, ", ")}, {"Group Key", strings.Join(n.GroupKey, ", ")},
	} {
		if d.text != "" {
			parts = append(parts, d.name+": "+d.text)
		}
	}
	if n.SortMethod != "" {
		parts = append(parts, fmt.Sprintf("%s, %s %.0f kB", n.SortMethod, n.SortSpace, n.SortKB))
	}
	return strings.Join(parts, "; ")
}

// record returns the plan for the record, without findings' notes.
func (e *explained) record() []record.PlanNode {
	var out []record.PlanNode
	parallel := e.Root.below("Gather", "Gather Merge") // executed by several processes
	e.Root.walk(func(n *node, depth int) {
		loops := n.loops()
		p := record.PlanNode{Depth: depth, Text: n.text(), Detail: n.detail(), Estimate: n.PlanRows * max(loops, 1),
			Cost: n.Cost}
		if n.Loops != nil {
			p.Rows, p.Removed, p.TotalNs = n.Rows*loops, n.Removed*loops, n.TimeMs*loops*1e6
			if parallel[n] {
				p.TotalNs = n.TimeMs * 1e6
			}
			if loops == 0 {
				p.Note = message.New("explain.never")
			}
		}
		out = append(out, p)
	})
	return out
}

// below returns the steps below those of the given types.
func (n *node) below(kinds ...string) map[*node]bool {
	out := map[*node]bool{}
	n.walk(func(m *node, _ int) {
		if slices.Contains(kinds, m.Type) {
			for _, c := range m.Plans {
				c.walk(func(k *node, _ int) { out[k] = true })
			}
		}
	})
	return out
}
