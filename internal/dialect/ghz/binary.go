package ghz

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"brunt/internal/dialect/calls"
	"brunt/internal/dialect/command"
)

// readBinary reads messages as they are sent, from standard input or a file. They replace data in JSON; a file replaces
// standard input.
func (o *Options) readBinary(in io.Reader, standard bool) (err error) {
	var data []byte
	if standard {
		data, err = command.ReadInput(in)
	}
	if err == nil && o.BinaryFile != "" {
		data, err = command.ReadFile(o.BinaryFile)
	}
	if len(data) == 0 || err != nil {
		return err
	}
	if o.StreamDynamicMessages {
		return errors.New("cannot use dynamic messages with binary data")
	}
	o.data, o.binary = data, true
	return nil
}

// binaryMessages returns messages as they are sent in the form of plans. As for ghz, they are several, each after its
// length, if they can be read so, and otherwise one.
func binaryMessages(data []byte, md protoreflect.MessageDescriptor) (all []string, err error) {
	for rest := data; ; {
		one, n := protowire.ConsumeBytes(rest)
		if n < 0 {
			break
		}
		text, err := messageText(one, md)
		if err != nil {
			all = nil
			break
		}
		all, rest = append(all, text), rest[n:]
	}
	if len(all) > 0 {
		return all, nil
	}
	text, err := messageText(data, md)
	if err != nil {
		return nil, fmt.Errorf("binary data: %w", err)
	}
	return []string{text}, nil
}

// messageText returns a message as JSON, escaped for plans.
func messageText(b []byte, md protoreflect.MessageDescriptor) (string, error) {
	m := dynamicpb.NewMessage(md)
	if err := proto.Unmarshal(b, m); err != nil {
		return "", fmt.Errorf("it isn't a %s: %w", md.FullName(), err)
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("a %s can't be written as JSON: %w", md.FullName(), err)
	}
	back := dynamicpb.NewMessage(md)
	if err := protojson.Unmarshal(text, back); err != nil || !proto.Equal(m, back) {
		return "", fmt.Errorf("a message holds what %s doesn't describe", md.FullName())
	}
	return calls.Escape(string(text)), nil
}
