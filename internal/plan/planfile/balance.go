package planfile

import (
	"reflect"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
)

// balanceForm returns the form of Target.Balance: a mode, or a mapping.
func balanceForm() form.Form {
	mode := form.Words{Lower: true}
	m := form.NewMapping("balance", "balance",
		form.Key("mode", "Mode", mode, "round-robin"),
		form.Key("per", "Per", form.Choice{"session", "request"},
			"session: each has one address; request: each operation takes one; session"),
		form.Key("hash", "Hash", form.Name(), "with hash: the parameter of operations that is hashed"),
		form.Key("bound", "Bound", form.Decimal{},
			"with hash: the most that a node may have under way, as a multiple of its share; 1.25"),
		form.Key("window", "Window", form.Span{Above: true},
			"with nearest: how much longer than the nearest a node may take to connect; 1ms"),
		form.Key("zone", "Zone", form.Name(), "with nearest: the zone of the generator"),
		form.Key("zones", "Zones", form.Custom[map[string]string]{In: optionsIn, Out: optionsNode,
			As: func(d *form.Definitions) form.Schema {
				return form.Schema{"type": "object", "additionalProperties": form.Words{}.Schema(d)}
			}}, "with nearest: the zone of each address"),
		form.Key("slow_start", "SlowStart", form.Span{},
			"with weighted, per request: how long the share of a node that returned grows; 0"),
		form.Key("by", "By", form.List{Of: form.Name(), Flow: true, Full: true},
			"with bucket: the parameters of operations that make the sharding key, in its order"),
		form.Key("buckets", "Buckets", form.Whole(1, plan.MaxBuckets), "with bucket: how many the cluster has"),
		form.Key("hash_function", "HashFunction", form.Choice(plan.BucketHashes()),
			"with bucket: what gives the bucket of a key"),
		form.Key("map", "Map", bucketMapForm(), "with bucket: who tells which address has which bucket"),
	)
	return shorthand[plan.Balance](mode, "Mode", m)
}

// bucketMapForm returns the form of Balance.Map, the assignment of buckets to addresses: a source, or a mapping.
func bucketMapForm() form.Form {
	source := form.Choice{"vshard", "picodata"}
	ranges := form.NewMapping("buckets", "a range of buckets",
		form.Required("from", "From", form.Whole(1, plan.MaxBuckets), "the first bucket"),
		form.Required("to", "To", form.Whole(1, plan.MaxBuckets), "the last bucket"),
		form.Required("address", "Address", form.Name(), "which has them"),
	)
	m := form.NewMapping("bucket_map", "map",
		form.Key("source", "Source", source, "vshard: each address by its space _bucket; picodata: its system tables"),
		form.Key("tier", "Tier", form.Name(), "picodata: the tier; default"),
		form.Key("sql", "SQL", form.Name(), "statement that returns rows of first bucket, last bucket and address"),
		form.Key("eval", "Eval", form.Name(),
			"program for Tarantool that returns such rows; without an address, the buckets are at the server that runs it"),
		form.Key("ranges", "Ranges", form.List{Of: ranges, Full: true}, "buckets and their addresses, which never change"),
	)
	return shorthand[plan.BucketMap](source, "Source", m)
}

// topologyForm returns the form of Target.Topology: a source, or a mapping.
func topologyForm() form.Form {
	source := form.Choice(plan.TopologySources())
	m := form.NewMapping("topology", "topology",
		form.Required("source", "Source", source, "who knows the nodes"),
		form.Key("from", "From", addressesForm(), "who is asked; the target's addresses"),
		form.Key("name", "Name", form.Name(), "srv: name of the record; sentinel: name of the primary"),
		form.Key("resolver", "Resolver", form.Name(), "dns, srv: host:port of the DNS server; the system's"),
		form.Key("every", "Every", form.Span{Above: true}, "how often is asked; 5s"),
		form.Key("leaving", "Leaving", form.Choice{"drain", "drop"},
			"sessions at a node that leaves finish their operation, or are closed at once; drain"),
		form.Key("room", "Room", form.Whole(1, plan.MaxRoom), "how many nodes may join; 16"),
	)
	return shorthand[plan.Topology](source, "Source", m)
}

func routeField() form.Field {
	return form.Key("route", "Route", form.Choice{"primary", "replica", "any"},
		"the role of the nodes that may serve it: primary, replica or any; any")
}

// shorthand returns the form of a T that is written as a word if only its field named field is set, and as the mapping
// m otherwise. A T without values is left out of the file. T must have the fields At and Where for its
// position and the positions of its keys.
func shorthand[T any](word form.Form, field string, m *form.Mapping) form.Form {
	return form.Custom[T]{
		In: func(r *form.Reader, key string, n *yaml.Node, t *T) {
			v := form.ValueOf(t)
			v.FieldByName("At").Set(reflect.ValueOf(r.At(n)))
			if n.Kind == yaml.MappingNode {
				m.Read(r, key, n, v)
				return
			}
			word.Read(r, key, n, v.FieldByName(field))
		},
		Out: func(t *T) *yaml.Node {
			v := form.ValueOf(t)
			rest := reflect.New(v.Type()).Elem()
			rest.Set(v)
			for _, name := range []string{field, "At", "Where"} {
				rest.FieldByName(name).SetZero()
			}
			switch short := v.FieldByName(field); {
			case !rest.IsZero():
				return m.Write(v)
			case short.IsZero():
				return nil
			default:
				return word.Write(short)
			}
		},
		As: form.AnyOf(word, m),
	}
}
