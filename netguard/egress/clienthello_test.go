package egress

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"testing"
)

func TestAClientHelloIsReadStrictly(t *testing.T) {
	read := func(change func([]byte) []byte) error {
		raw := change(simpleHello(serverNames("good.example.org")))
		_, _, err := readClientHello(bufio.NewReader(bytes.NewReader(raw)))
		return err
	}
	if err := read(func(raw []byte) []byte { return raw }); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"another version of records": func(raw []byte) []byte { raw[1] = 2; return raw },
		"a byte after the extensions": func(raw []byte) []byte {
			raw = append(raw, 0)
			binary.BigEndian.PutUint16(raw[3:], binary.BigEndian.Uint16(raw[3:])+1) // of the record
			binary.BigEndian.PutUint16(raw[7:], binary.BigEndian.Uint16(raw[7:])+1) // of the message
			return raw
		},
	} {
		if read(change) == nil {
			t.Errorf("%s passes", name)
		}
	}
}
