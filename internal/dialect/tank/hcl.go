package tank

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"go.yaml.in/yaml/v4"

	"brunt/internal/base/suggest"
)

// hclBlocks are the blocks of scenarios in HCL, with the names of the lists in YAML that stand for them, and the keys
// for their labels.
var hclBlocks = map[string]hclBlock{
	"variable_source": {"variable_sources", []string{"name", "type"}, nil},
	"request":         {"requests", []string{"name"}, requestBlocks},
	"call": {"calls", []string{"name"}, map[string]hclBlock{
		"preprocessor":  {"preprocessors", []string{"type"}, nil},
		"postprocessor": {"postprocessors", []string{"type"}, nil},
	}},
	"scenario": {"scenarios", []string{"name"}, nil},
}

// requestBlocks are the blocks within requests. Those without a list are single.
var requestBlocks = map[string]hclBlock{
	"preprocessor":  {"", nil, nil},
	"templater":     {"", nil, nil},
	"postprocessor": {"postprocessors", []string{"type"}, map[string]hclBlock{"size": {"", nil, nil}}},
}

// hclBlock says what a block in HCL is in YAML.
type hclBlock struct {
	list   string
	labels []string
	blocks map[string]hclBlock
}

// localsBlock is the name of blocks of values that only the file itself uses.
const localsBlock = "locals"

// hclFunctions are the functions that Pandora's files may call.
var hclFunctions = map[string]function.Function{
	"coalesce": stdlib.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc,
	"concat": stdlib.ConcatFunc, "distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc,
	"flatten": stdlib.FlattenFunc, "index": stdlib.IndexFunc, "keys": stdlib.KeysFunc, "lookup": stdlib.LookupFunc,
	"merge": stdlib.MergeFunc, "reverse": stdlib.ReverseListFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc,
	"split": stdlib.SplitFunc, "values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,
}

// hcl reads scenarios in HCL as the YAML that stands for them. It returns nil after faults.
func (r *reader) hcl(text []byte) *yaml.Node {
	f, wrong := hclsyntax.ParseConfig(text, r.file, hcl.InitialPos)
	if r.wrong(wrong[:min(len(wrong), 1)]) { // others follow from the first one
		return nil
	}
	body := f.Body.(*hclsyntax.Body)
	locals := map[string]cty.Value{}
	context := func() *hcl.EvalContext {
		vars := map[string]cty.Value{"local": cty.ObjectVal(locals)}
		return &hcl.EvalContext{Variables: vars, Functions: hclFunctions}
	}
	blocks := body.Blocks
	body.Blocks = nil
	for _, b := range blocks {
		if b.Type != localsBlock {
			body.Blocks = append(body.Blocks, b)
			continue
		}
		within := context() // a block's values don't see each other
		fresh := map[string]cty.Value{}
		for name, a := range b.Body.Attributes {
			v, wrong := a.Expr.Value(within)
			if !r.wrong(wrong) {
				fresh[name] = v
			}
		}
		locals = maps.Clone(locals)
		maps.Copy(locals, fresh)
	}
	root := mappingAt(hcl.InitialPos)
	r.hclBody(root, body, context(), hclBlocks)
	if len(r.faults) > 0 {
		return nil
	}
	return root
}

// wrong adds faults, and reports whether there are any.
func (r *reader) wrong(all hcl.Diagnostics) bool {
	for _, d := range all {
		if d.Severity != hcl.DiagError {
			continue
		}
		at := hcl.InitialPos
		if d.Subject != nil {
			at = d.Subject.Start
		}
		text := strings.Join(strings.Fields(strings.TrimSuffix(d.Summary, ".")+": "+d.Detail), " ")
		r.fault(mappingAt(at), "%s", strings.TrimSuffix(text, "."))
	}
	return all.HasErrors()
}

func mappingAt(at hcl.Pos) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: at.Line, Column: at.Column}
}

func textAt(at hcl.Pos, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text, Line: at.Line,
		Column: at.Column}
}

// hclBody adds the attributes and blocks of a body to a mapping.
func (r *reader) hclBody(to *yaml.Node, body *hclsyntax.Body, in *hcl.EvalContext, known map[string]hclBlock) {
	order := slices.SortedFunc(maps.Values(body.Attributes), func(a, b *hclsyntax.Attribute) int {
		return cmp.Compare(a.NameRange.Start.Byte, b.NameRange.Start.Byte)
	})
	for _, a := range order {
		v, wrong := a.Expr.Value(in)
		if r.wrong(wrong) {
			continue
		}
		if n := r.hclValue(v, a.Expr.Range().Start, 0); n != nil {
			to.Content = append(to.Content, textAt(a.NameRange.Start, a.Name), n)
		}
	}
	lists := map[string]*yaml.Node{}
	for _, b := range body.Blocks {
		at := b.TypeRange.Start
		kind, ok := known[b.Type]
		switch {
		case !ok:
			r.fault(mappingAt(at), "unknown block %q; %s", b.Type, suggest.Or(b.Type, sortedKeys(known), "remove it"))
			continue
		case len(b.Labels) != len(kind.labels):
			r.fault(mappingAt(at), "the block %s has %d labels; it takes %d (%s)", b.Type, len(b.Labels), len(kind.labels),
				strings.Join(kind.labels, ", "))
			continue
		}
		one := mappingAt(at)
		for i, key := range kind.labels {
			one.Content = append(one.Content, textAt(b.LabelRanges[i].Start, key), textAt(b.LabelRanges[i].Start, b.Labels[i]))
		}
		r.hclBody(one, b.Body, in, kind.blocks)
		switch {
		case kind.list == "":
			to.Content = append(to.Content, textAt(at, b.Type), one)
		case lists[kind.list] == nil:
			lists[kind.list] = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: at.Line, Column: at.Column}
			to.Content = append(to.Content, textAt(at, kind.list), lists[kind.list])
			fallthrough
		default:
			lists[kind.list].Content = append(lists[kind.list].Content, one)
		}
	}
}

// hclValue returns a value as YAML, in which numbers and truth values are texts; nil if it is null.
func (r *reader) hclValue(v cty.Value, at hcl.Pos, depth int) *yaml.Node {
	switch {
	case depth > maxDepth || !v.IsWhollyKnown():
		r.fault(mappingAt(at), "the value isn't known")
		return nil
	case v.IsNull():
		return nil
	case v.CanIterateElements():
		n := mappingAt(at)
		named := v.Type().IsObjectType() || v.Type().IsMapType()
		if !named {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for it := v.ElementIterator(); it.Next(); {
			key, element := it.Element()
			value := r.hclValue(element, at, depth+1)
			if value == nil {
				continue
			}
			if named {
				n.Content = append(n.Content, textAt(at, key.AsString()))
			}
			n.Content = append(n.Content, value)
		}
		return n
	}
	text, err := convert.Convert(v, cty.String)
	if err != nil {
		r.fault(mappingAt(at), "the value isn't a text: %v", err)
		return nil
	}
	return textAt(at, text.AsString())
}
