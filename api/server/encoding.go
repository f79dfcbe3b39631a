package server

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"

	"aibox/internal/fault"
)

// encoding is the only compression of messages and bodies.
const encoding = "gzip"

// unpacker decompresses messages. Unlike gzip.Reader, it says that a message which cannot be
// read is the client's fault, and can bound its size.
type unpacker struct {
	gzip.Reader
	limit int64 // bytes of a message; 0: the caller bounds it
	wrap  func(error) error

	read int64
}

// Reset implements connect.Decompressor.
func (u *unpacker) Reset(in io.Reader) error {
	u.read = 0
	return u.failed(u.Reader.Reset(in))
}

// Read implements io.Reader.
func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if u.read += int64(n); u.limit > 0 && u.read > u.limit {
		return 0, u.wrap(tooLarge(fmt.Sprintf("the message has more than the %d bytes that it may have uncompressed", u.limit)))
	}
	return n, u.failed(err)
}

// failed returns the error of a message that is damaged or was cut off.
func (u *unpacker) failed(err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // the end of the message is never wrapped
		return err
	}
	// The cause of a message that was cut off is no io.EOF here: a reader would take it for the end.
	return u.wrap(fault.New(fault.Usage, "the message is not valid gzip: %v", err))
}

// withUnpacker is for the protocols of Connect, whose handlers bound messages themselves.
func withUnpacker() connect.HandlerOption {
	return connect.WithCompression(encoding, func() connect.Decompressor {
		return &unpacker{wrap: func(err error) error { return err }}
	}, func() connect.Compressor { return gzip.NewWriter(io.Discard) })
}

// withRESTUnpacker is for REST. Vanguard bounds a body only before it decompresses it, and takes
// errors without a code for its own.
func withRESTUnpacker(limit int64) vanguard.TranscoderOption {
	return vanguard.WithCompression(encoding, func() connect.Compressor { return gzip.NewWriter(io.Discard) }, func() connect.Decompressor {
		return &unpacker{limit: limit, wrap: func(err error) error { return toConnect(context.Background(), err) }}
	})
}

// failEncoding is a body in an encoding that the server does not know.
var failEncoding = failure{failInvalid.kind, connect.CodeUnimplemented, http.StatusUnsupportedMediaType}

// checkEncoding refuses a body in an encoding that is not known: it would be read, or stored, as
// something else.
func checkEncoding(r *http.Request, known string) error {
	given := strings.Join(r.Header.Values("Content-Encoding"), ", ")
	if given == "" || given == "identity" || given == known {
		return nil
	}
	hint := "send the body without an encoding"
	if known != "" {
		hint += ", or in " + known
	}
	return &failed{failEncoding, fmt.Sprintf("the content encoding %q of the body is not supported", given), []string{hint}}
}
