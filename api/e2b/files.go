package e2b

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/httpbody"

	aiboxv1 "aibox/api/aibox/v1"
)

// Limits of uploads. The size of a file is limited by the sandbox's disk.
const (
	maxFiles      = 1000               // in one upload
	maxPartHeader = 64 << 10           // bytes before the content of a part of a form, which are in memory
	pieceSize     = 256 << 10          // bytes of a file in one message
	uploadPause   = time.Minute        // time without a byte after which an upload ends
	metadataName  = "X-Metadata-"      // prefix of headers
	diskFull      = "the disk is full" // prefix in the errors of aibox's files
	octetStream   = "application/octet-stream"
)

// readFile sends a file. A browser that opens the URL stores it, and runs nothing of it.
func (s *Server) readFile(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	request := &aiboxv1.ReadFileRequest{SandboxId: callerOf(ctx).sandbox, User: callerOf(ctx).user, Path: r.URL.Query().Get("path")}
	part, err := s.partOf(r, request)
	if err != nil {
		writeError(w, err)
		return
	}
	if part != nil && part.size == 0 {
		w.Header().Set("Content-Range", part.header())
		writeError(w, &apiError{http.StatusRequestedRangeNotSatisfiable, "the file ends before the range"})
		return
	}
	pieces, err := s.backend.files.Read(ctx, connect.NewRequest(request))
	if err != nil {
		writeError(w, s.fileError(ctx, err))
		return
	}
	defer pieces.Close()
	more := pieces.Receive()
	if err := pieces.Err(); err != nil {
		writeError(w, s.fileError(ctx, err))
		return
	}
	header := w.Header()
	header.Set("Content-Type", octetStream)
	header.Set("Content-Disposition", "attachment")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "sandbox")
	header.Set("Accept-Ranges", "bytes")
	status := http.StatusOK
	switch {
	case part != nil:
		// net/http cuts the connection if the file has become shorter.
		header.Set("Content-Range", part.header())
		header.Set("Content-Length", strconv.FormatInt(part.size, 10))
		status = http.StatusPartialContent
	case !more:
		header.Set("Content-Length", "0")
	}
	w.WriteHeader(status)
	for ; more; more = pieces.Receive() {
		if _, err := w.Write(pieces.Msg().GetContent().GetData()); err != nil {
			return // the caller has gone
		}
	}
	if pieces.Err() != nil {
		panic(http.ErrAbortHandler) // a truncated file must not look complete
	}
}

// fileError converts the error of a failed call of aibox's files for the packages.
func (s *Server) fileError(ctx context.Context, err error) error {
	err = s.backend.insideError(ctx, err)
	if errors.Is(err, errGone) {
		return &apiError{http.StatusBadGateway, errGone.Message()}
	}
	switch code := connect.CodeOf(err); {
	case code == connect.CodeFailedPrecondition:
		return &apiError{http.StatusBadRequest, sentence(err)}
	case code == connect.CodeResourceExhausted && strings.Contains(sentence(err), diskFull):
		return &apiError{http.StatusInsufficientStorage, sentence(err)}
	}
	return err
}

// writtenFile is a file in the answer to an upload.
type writtenFile struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Path string `json:"path"`
}

// writeFiles writes the files of a form, or the body as one file.
func (s *Server) writeFiles(w http.ResponseWriter, r *http.Request) {
	files, err := s.upload(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, files)
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) ([]writtenFile, error) {
	for name := range r.Header {
		if strings.HasPrefix(name, metadataName) {
			return nil, &apiError{http.StatusBadRequest, "aibox stores no metadata with files: leave it out"}
		}
	}
	var body io.Reader = &patientReader{in: r.Body, control: http.NewResponseController(w)}
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		unpacked, err := gzip.NewReader(bufio.NewReader(body))
		if err != nil {
			return nil, &apiError{http.StatusBadRequest, "the body is no gzip data"}
		}
		body = unpacked
	default:
		return nil, &apiError{http.StatusBadRequest, "the content encoding " + strconv.Quote(encoding) + " is unknown: use gzip or none"}
	}
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "multipart/form-data" && parameters["boundary"] != "":
		return s.writeForm(r, newForm(body, parameters["boundary"]))
	case err == nil && kind == octetStream:
		file, err := s.writeFile(r, r.URL.Query().Get("path"), body)
		if err != nil {
			return nil, err
		}
		return []writtenFile{file}, nil
	default:
		return nil, &apiError{http.StatusBadRequest, "the body is multipart/form-data or " + octetStream}
	}
}

// writeForm writes the files of a form, each to the path of the request or to its own name.
func (s *Server) writeForm(r *http.Request, form *form) ([]writtenFile, error) {
	var files []writtenFile
	for {
		part, err := form.next()
		switch {
		case err == io.EOF && len(files) == 0: //nolint:errorlint // the error of a form that was cut off may wrap io.EOF
			return nil, &apiError{http.StatusBadRequest, "the form has no file"}
		case err == io.EOF: //nolint:errorlint // as above
			return files, nil
		case err != nil:
			return nil, &apiError{http.StatusBadRequest, "the form cannot be read: " + err.Error()}
		case part.FormName() != "file":
			continue
		case len(files) == maxFiles:
			return nil, &apiError{http.StatusBadRequest, "a form has up to " + strconv.Itoa(maxFiles) + " files"}
		}
		name := r.URL.Query().Get("path")
		if name == "" {
			name = fileName(part)
		}
		file, err := s.writeFile(r, name, part)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
}

// form reads the parts of a form. It keeps a limited part of them in memory.
type form struct {
	parts *multipart.Reader
	body  *io.LimitedReader
	last  *multipart.Part
}

func newForm(body io.Reader, boundary string) *form {
	// If the body ends before the headers of a part, multipart returns io.EOF, as at the last
	// boundary. With an empty line at the end, there is a part instead, which has no end.
	limited := &io.LimitedReader{R: io.MultiReader(body, strings.NewReader("\r\n\r\n"))}
	return &form{parts: multipart.NewReader(limited, boundary), body: limited}
}

// next returns the next part, or an unwrapped io.EOF at the last boundary.
func (f *form) next() (*multipart.Part, error) {
	if f.last != nil { // otherwise its rest would count as the headers of the next part
		if _, err := io.Copy(io.Discard, f.last); err != nil {
			return nil, err
		}
	}
	f.body.N = maxPartHeader
	part, err := f.parts.NextPart()
	switch {
	case err != nil && f.body.N <= 0:
		return nil, fmt.Errorf("the headers of a part have more than %d bytes", maxPartHeader)
	case err != nil:
		return nil, err
	}
	f.body.N, f.last = math.MaxInt64, part
	return part, nil
}

// fileName returns the name of a file in a form. It is the path in the sandbox, so its
// directories count, which multipart.Part.FileName drops.
func fileName(part *multipart.Part) string {
	_, parameters, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return parameters["filename"]
}

// writeFile writes one file.
func (s *Server) writeFile(r *http.Request, name string, in io.Reader) (writtenFile, error) {
	if name == "" {
		return writtenFile{}, &apiError{http.StatusBadRequest, "the path of the file is missing"}
	}
	ctx, cancel := context.WithCancel(r.Context()) // an interrupted upload leaves no file
	defer cancel()
	out := s.backend.files.Write(ctx)
	message := &aiboxv1.WriteFileRequest{SandboxId: callerOf(ctx).sandbox, User: callerOf(ctx).user, Path: name}
	for buffer := make([]byte, pieceSize); ; message = new(aiboxv1.WriteFileRequest) {
		n, readErr := fill(in, buffer)
		message.Content = &httpbody.HttpBody{Data: buffer[:n]}
		sendErr := out.Send(message)
		switch {
		case readErr == io.EOF, sendErr != nil: //nolint:errorlint // the error of an interrupted body may wrap io.EOF
			written, err := out.CloseAndReceive()
			if err != nil {
				return writtenFile{}, s.fileError(ctx, err)
			}
			return writtenFile{Name: written.Msg.Name, Type: "file", Path: written.Msg.Path}, nil
		case readErr != nil:
			return writtenFile{}, &apiError{http.StatusBadRequest, "the upload broke off: " + readErr.Error()}
		}
	}
}

// fill reads until the buffer is full. Unlike io.ReadFull it returns an unwrapped io.EOF only
// for the end of a body, so that an interrupted body differs.
func fill(in io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var more int
		more, err = in.Read(buffer[n:])
		n += more
	}
	return n, err
}

// patientReader reads a body of any size that must not pause for long.
type patientReader struct {
	in      io.Reader
	control *http.ResponseController
}

func (p *patientReader) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(uploadPause)) // not every server has deadlines
	n, err := p.in.Read(b)
	if err != nil {
		_ = p.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
