package flight

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"time"
)

// The types of the recordings that tests write.
const (
	idLong = iota + 10
	idText
	idByte
	idBoolean
	idInt
	idSymbol
	idClass
	idMethod
	idFrame
	idStack
	idThread
	idInJava
	idInNative
	idEmpty
	idFloat
	idDouble
)

// described is a type, with its fields: name, type, whether it is a constant's number and whether it is an array.
type described struct {
	id     int
	name   string
	fields []field
}

// types are those of a JVM as far as samples need them, in the order and with parts that are passed over.
var types = []described{
	{idLong, "long", nil}, {idText, typeText, nil}, {idByte, "byte", nil}, {idBoolean, "boolean", nil},
	{idInt, "int", nil},
	{idEmpty, "jdk.types.Empty", nil}, {idFloat, "float", nil}, {idDouble, "double", nil},
	{idSymbol, typeSymbol, []field{{"string", idText, false, false}}},
	{idClass, typeClass, []field{{"hidden", idBoolean, false, false}, {"name", idSymbol, true, false}}},
	{idMethod, typeMethod, []field{{"type", idClass, true, false}, {"name", idSymbol, true, false},
		{"modifiers", idInt, false, false}}},
	{idFrame, "jdk.types.StackFrame", []field{{"method", idMethod, true, false}, {"lineNumber", idInt, false, false}}},
	{idStack, typeStack, []field{{"truncated", idBoolean, false, false}, {"frames", idFrame, false, true}}},
	{idThread, typeThread, []field{{"osName", idText, false, false}, {"load", idFloat, false, false},
		{"weight", idDouble, false, false}, {"osThreadId", idLong, false, false}}},
	{idInJava, sampleInJava, []field{{"startTime", idLong, false, false}, {"sampledThread", idThread, true, false},
		{"stackTrace", idStack, true, false}}},
	{idInNative, sampleInNative, []field{{"startTime", idLong, false, false}, {"sampledThread", idThread, true, false},
		{"stackTrace", idStack, true, false}}},
}

// writer writes values as a JVM does.
type writer struct{ bytes.Buffer }

func (w *writer) long(values ...int64) {
	for _, value := range values {
		v := uint64(value)
		for i := 0; i < 8 && v >= 0x80; i++ {
			w.WriteByte(byte(v) | 0x80)
			v >>= 7
		}
		w.WriteByte(byte(v))
	}
}

func (w *writer) text(s string) {
	w.WriteByte(textUTF8)
	w.long(int64(len(s)))
	w.WriteString(s)
}

// event returns an event with its size before it.
func event(kind int64, body []byte) []byte {
	var w writer
	w.long(int64(len(body))+2, kind) // both are short
	if len(body)+2 >= 0x80 {
		w.Reset()
		w.long(int64(len(body))+3, kind)
	}
	w.Write(body)
	return w.Bytes()
}

// description returns the event that describes the types.
func description(types []described) []byte {
	var texts []string
	number := func(s string) int64 {
		for i, t := range texts {
			if t == s {
				return int64(i)
			}
		}
		texts = append(texts, s)
		return int64(len(texts) - 1)
	}
	var tree writer
	element := func(name string, children int, attributes ...string) {
		tree.long(number(name), int64(len(attributes)/2))
		for _, a := range attributes {
			tree.long(number(a))
		}
		tree.long(int64(children))
	}
	element("root", 2)
	element("metadata", len(types))
	for _, t := range types {
		element("class", len(t.fields)+1, "name", t.name, "id", strconv.Itoa(t.id))
		element("annotation", 0, "class", "1")
		for _, f := range t.fields {
			a := []string{"name", f.name, "class", strconv.FormatInt(f.kind, 10)}
			if f.constant {
				a = append(a, "constantPool", "true")
			}
			if f.array {
				a = append(a, "dimension", "1")
			}
			element("field", 0, a...)
		}
	}
	element("region", 0, "locale", "en")
	var w writer
	w.long(0, 0, 0, 0, 0, int64(len(texts)))
	for _, s := range texts {
		w.text(s)
	}
	w.Write(tree.Bytes())
	return w.Bytes()
}

// pool is a list of constants of one type.
type pool struct {
	kind   int64
	number int64
	data   writer
}

// list returns the event of lists of constants. delta says where the one before it is.
func list(delta int64, pools ...*pool) []byte {
	var w writer
	w.long(0, 1, 0, 0, delta)
	w.WriteByte(0)
	w.long(int64(len(pools)))
	for _, p := range pools {
		w.long(p.kind, p.number)
		w.Write(p.data.Bytes())
	}
	return w.Bytes()
}

// began is when the chunks that tests write begin. Their clock has a tick a microsecond.
var began = time.Unix(1_700_000_000, 0)

const beganTicks = 5_000_000

// recordedSample is a sample to write.
type recordedSample struct {
	kind   int64
	after  time.Duration
	thread int64 // also its number
	stack  []string
}

// chunkOf returns a chunk with samples, whose methods are of the class app/Main, with its constants in two lists.
func chunkOf(samples ...recordedSample) []byte {
	symbols, classes, methods := &pool{kind: idSymbol}, &pool{kind: idClass}, &pool{kind: idMethod}
	stacks, threads := &pool{kind: idStack}, &pool{kind: idThread}
	symbols.number++
	symbols.data.long(1)
	symbols.data.text("app/Main")
	classes.number++
	classes.data.long(7)
	classes.data.WriteByte(0)
	classes.data.long(1)
	known := map[string]int64{}
	var events bytes.Buffer
	for i, s := range samples {
		for _, f := range s.stack {
			if known[f] == 0 {
				id := int64(len(known)) + 2
				known[f] = id
				symbols.number++
				symbols.data.long(id)
				symbols.data.text(f)
				methods.number++
				methods.data.long(id, 7, id, 300)
			}
		}
		stacks.number++
		stacks.data.long(int64(i))
		stacks.data.WriteByte(1)
		stacks.data.long(int64(len(s.stack)))
		for _, f := range s.stack {
			stacks.data.long(known[f], 42)
		}
		threads.number++
		threads.data.long(s.thread)
		threads.data.text("worker")
		threads.data.Write(make([]byte, floatSize+doubleSize))
		threads.data.long(s.thread)
		var body writer
		body.long(beganTicks+s.after.Microseconds(), s.thread, int64(i))
		events.Write(event(s.kind, body.Bytes()))
	}
	first := list(0, symbols, classes)
	second := list(-int64(len(first)), methods, stacks, threads)
	return assembled(events.Bytes(), description(types), first, second)
}

// assembled returns a chunk of events, a description of types, and two lists of constants. The description and the
// lists follow the events as events of a type that isn't known.
func assembled(events, described, first, second []byte) []byte {
	tail := bytes.Join([][]byte{described, first, second}, nil)
	body := append(append([]byte(nil), events...), wrap(tail)...)
	at := int64(headerSize + len(body) - len(tail))
	head := make([]byte, headerSize)
	copy(head, magic)
	binary.BigEndian.PutUint16(head[4:], 2)
	binary.BigEndian.PutUint16(head[6:], 1)
	for i, v := range []int64{int64(headerSize + len(body)), at + int64(len(described)+len(first)), at, began.UnixNano(),
		int64(time.Second), beganTicks, 1_000_000} {
		binary.BigEndian.PutUint64(head[8+8*i:], uint64(v))
	}
	head[67] = 1
	return append(head, body...)
}

// wrap makes one event that contains the bytes at its end.
func wrap(data []byte) []byte {
	var w writer
	for size := int64(len(data)) + 2; ; size++ {
		w.Reset()
		w.long(size, 1)
		if int64(w.Len()+len(data)) == size {
			w.Write(data)
			return w.Bytes()
		}
	}
}
