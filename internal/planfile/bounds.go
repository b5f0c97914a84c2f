package planfile

import "go.yaml.in/yaml/v4"

// bounded reports whether a document is small enough to be walked with its aliases followed, and
// adds a problem if not. It visits each node once.
func (r *reader) bounded(root *yaml.Node) bool {
	m := measurer{sizes: map[*yaml.Node]int{}}
	size, plain := m.size(root, 0), m.nodes
	switch {
	case m.circular != nil:
		r.problemAt(m.circular, "write the value out", "alias *%s stands within what it stands for", m.circular.Value)
	case m.deep != nil:
		r.problemAt(m.deep, "flatten it", "lists and mappings are nested deeper than %d", maxDepth)
	case size > plain+maxExpanded:
		r.problemAt(root, "write the values out", "aliases make the file more than %d values longer", maxExpanded)
	default:
		return true
	}
	return false
}

// measurer computes how many nodes a tree has with aliases followed.
type measurer struct {
	sizes    map[*yaml.Node]int // of anchored nodes; 0 while being computed
	nodes    int                // without following aliases
	circular *yaml.Node
	deep     *yaml.Node
}

// huge stands for every greater size, so that sums can't overflow.
const huge = 1 << 40

func (m *measurer) size(n *yaml.Node, depth int) int {
	if depth > maxDepth {
		m.deep = n
	}
	if m.deep != nil || m.circular != nil {
		return 0
	}
	if n.Kind == yaml.AliasNode {
		m.nodes++
		size, seen := m.sizes[n.Alias]
		if !seen {
			return 1
		}
		if size == 0 {
			m.circular = n
		}
		return size
	}
	if n.Anchor != "" {
		m.sizes[n] = 0
	}
	m.nodes++
	total := 1
	for _, c := range n.Content {
		total = min(total+m.size(c, depth+1), huge)
	}
	if n.Anchor != "" {
		m.sizes[n] = total
	}
	return total
}
