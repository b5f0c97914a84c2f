package planfile

import (
	"reflect"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
)

// balanceForm returns the form of Target.Balance: a mode, or a mapping.
func balanceForm() form {
	mode := words{lower: true}
	m := newMapping("balance", "balance",
		field{"mode", "Mode", mode, "round-robin", false},
		field{"per", "Per", choice{"session", "request"},
			"session: each has one address; request: each operation takes one; session", false},
		field{"hash", "Hash", words{name: true}, "with hash: the parameter of operations that is hashed", false},
		field{"bound", "Bound", decimal{}, "with hash: the most that a node may have under way, as a multiple of its share; 1.25",
			false},
		field{"window", "Window", span{above: true},
			"with nearest: how much longer than the nearest a node may take to connect; 1ms", false},
		field{"zone", "Zone", words{name: true}, "with nearest: the zone of the generator", false},
		field{"zones", "Zones", custom[map[string]string]{optionsIn, optionsNode, func(d *definitions) schema {
			return schema{"type": "object", "additionalProperties": words{}.schema(d)}
		}}, "with nearest: the zone of each address", false},
		field{"slow_start", "SlowStart", span{},
			"with weighted, per request: how long the share of a node that returned grows; 0", false},
		field{"by", "By", list{of: words{name: true}, flow: true, full: true},
			"with bucket: the parameters of operations that make the sharding key, in its order", false},
		field{"buckets", "Buckets", whole{1, plan.MaxBuckets}, "with bucket: how many the cluster has", false},
		field{"hash_function", "HashFunction", choice(plan.BucketHashes()), "with bucket: what gives the bucket of a key", false},
		field{"map", "Map", bucketMapForm(), "with bucket: who tells which address has which bucket", false},
	)
	return shorthand[plan.Balance](mode, "Mode", m)
}

// bucketMapForm returns the form of Balance.Map, the assignment of buckets to addresses: a source, or a mapping.
func bucketMapForm() form {
	source := choice{"vshard", "picodata"}
	ranges := newMapping("buckets", "a range of buckets",
		field{"from", "From", whole{1, plan.MaxBuckets}, "the first bucket", true},
		field{"to", "To", whole{1, plan.MaxBuckets}, "the last bucket", true},
		field{"address", "Address", words{name: true}, "which has them", true},
	)
	m := newMapping("bucket_map", "map",
		field{"source", "Source", source, "vshard: each address by its space _bucket; picodata: its system tables", false},
		field{"tier", "Tier", words{name: true}, "picodata: the tier; default", false},
		field{"sql", "SQL", words{name: true}, "statement that returns rows of first bucket, last bucket and address", false},
		field{"eval", "Eval", words{name: true},
			"program for Tarantool that returns such rows; without an address, the buckets are at the server that runs it", false},
		field{"ranges", "Ranges", list{of: ranges, full: true}, "buckets and their addresses, which never change", false},
	)
	return shorthand[plan.BucketMap](source, "Source", m)
}

// topologyForm returns the form of Target.Topology: a source, or a mapping.
func topologyForm() form {
	source := choice(plan.TopologySources())
	m := newMapping("topology", "topology",
		field{"source", "Source", source, "who knows the nodes", true},
		field{"from", "From", custom[[]string]{addressesIn, addressesNode, anyOf(words{name: true},
			list{of: words{}, full: true})}, "who is asked; the target's addresses", false},
		field{"name", "Name", words{name: true}, "srv: name of the record; sentinel: name of the primary", false},
		field{"resolver", "Resolver", words{name: true}, "dns, srv: host:port of the DNS server; the system's", false},
		field{"every", "Every", span{above: true}, "how often is asked; 5s", false},
		field{"leaving", "Leaving", choice{"drain", "drop"},
			"sessions at a node that leaves finish their operation, or are closed at once; drain", false},
		field{"room", "Room", whole{1, plan.MaxRoom}, "how many nodes may join; 16", false},
	)
	return shorthand[plan.Topology](source, "Source", m)
}

func routeField() field {
	return field{"route", "Route", choice{"primary", "replica", "any"},
		"the role of the nodes that may serve it: primary, replica or any; any", false}
}

// shorthand returns the form of a T that is written as a word if only its field named field is set, and as the mapping
// m otherwise. A T without values is left out of the file. T must have the fields At and Where for its
// position and the positions of its keys.
func shorthand[T any](word form, field string, m *mapping) form {
	return custom[T]{
		func(r *reader, key string, n *yaml.Node, t *T) {
			v := valueOf(t)
			v.FieldByName("At").Set(reflect.ValueOf(r.at(n)))
			if n.Kind == yaml.MappingNode {
				m.read(r, key, n, v)
				return
			}
			word.read(r, key, n, v.FieldByName(field))
		},
		func(t *T) *yaml.Node {
			v := valueOf(t)
			rest := reflect.New(v.Type()).Elem()
			rest.Set(v)
			for _, name := range []string{field, "At", "Where"} {
				rest.FieldByName(name).SetZero()
			}
			switch short := v.FieldByName(field); {
			case !rest.IsZero():
				return m.write(v)
			case short.IsZero():
				return nil
			default:
				return word.write(short)
			}
		},
		anyOf(word, m),
	}
}
