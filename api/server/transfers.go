package server

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/internal/fault"
)

// addUploads adds the uploads and downloads of REST, whose bodies are streams: vanguard would
// hold a whole body in memory.
func (s *Server) addUploads(f *fileService) {
	s.addUpload("PUT /v1/sandboxes/{sandbox_id}/files/content", "aibox.v1.Files/Write", aiboxv1.Right_RIGHT_EXECUTE, func(ctx context.Context, r *http.Request) (proto.Message, error) {
		if err := CheckQuery(r, "path", "user", "mode"); err != nil {
			return nil, err
		}
		query := r.URL.Query()
		var mode uint64
		if text := query.Get("mode"); text != "" {
			var err error
			if mode, err = strconv.ParseUint(text, 10, 32); err != nil || len(text) > 1 && text[0] == '0' {
				return nil, fault.New(fault.Usage, "mode is a decimal number, not %q", text).Hint("0644 is 420, and 0755 is 493")
			}
		}
		entry, err := f.write(ctx, &aiboxv1.WriteFileRequest{
			SandboxId: r.PathValue("sandbox_id"), Path: query.Get("path"), User: query.Get("user"), Mode: uint32(mode),
		}, r.Body)
		if err != nil {
			return nil, fileError(err)
		}
		return toFile(entry), nil
	})
	s.addUpload("PUT /v1/sandboxes/{sandbox_id}/files/archive", "aibox.v1.Files/Upload", aiboxv1.Right_RIGHT_EXECUTE, func(ctx context.Context, r *http.Request) (proto.Message, error) {
		if err := CheckQuery(r, "path", "user", "name"); err != nil {
			return nil, err
		}
		query := r.URL.Query()
		return f.upload(ctx, &aiboxv1.UploadFilesRequest{
			SandboxId: r.PathValue("sandbox_id"), Path: query.Get("path"), User: query.Get("user"), Name: query.Get("name"),
		}, r.Body)
	})
}

// TreeUploader is implemented by Services.Sessions if it can store trees without holding
// them in memory.
type TreeUploader interface {
	AddTree(ctx context.Context, archive io.Reader) (*aiboxv1.Tree, error)
}

// addTrees adds the upload of trees, if the service of sessions can store them.
func (s *Server) addTrees() {
	trees, ok := s.options.Services.Sessions.(TreeUploader)
	if !ok {
		return
	}
	s.addUpload("POST /v1/trees", "aibox.v1.Sessions/UploadTree", aiboxv1.Right_RIGHT_SESSIONS, func(ctx context.Context, r *http.Request) (proto.Message, error) {
		if err := CheckQuery(r); err != nil {
			return nil, err
		}
		return trees.AddTree(ctx, r.Body)
	})
}

// addDownloads adds the downloads of REST.
func (s *Server) addDownloads(f *fileService) {
	s.addDownload("GET /v1/sandboxes/{sandbox_id}/files/content", "aibox.v1.Files/Read", "", func(r *http.Request, send func(*httpbody.HttpBody) error) (string, error) {
		if err := CheckQuery(r, "path", "user", "offset", "length"); err != nil {
			return "", err
		}
		query := r.URL.Query()
		var numbers [2]int64
		for i, name := range []string{"offset", "length"} {
			if text := query.Get(name); text != "" {
				var err error
				if numbers[i], err = strconv.ParseInt(text, 10, 64); err != nil {
					return "", fault.New(fault.Usage, "%s is a number, not %q", name, text)
				}
			}
		}
		return "", f.read(r.Context(), &aiboxv1.ReadFileRequest{
			SandboxId: r.PathValue("sandbox_id"), Path: query.Get("path"), User: query.Get("user"), Offset: numbers[0], Length: numbers[1],
		}, send)
	})
	s.addDownload("GET /v1/sandboxes/{sandbox_id}/files/archive", "aibox.v1.Files/Download", leftOutTrailer, func(r *http.Request, send func(*httpbody.HttpBody) error) (string, error) {
		if err := CheckQuery(r, "path", "user"); err != nil {
			return "", err
		}
		query := r.URL.Query()
		return f.download(r.Context(), &aiboxv1.DownloadFilesRequest{SandboxId: r.PathValue("sandbox_id"), Path: query.Get("path"), User: query.Get("user")}, send)
	})
}

// addDownload adds the REST of one method whose answers are a stream. A failure after the
// start cuts the connection, so that the answer does not look complete. do returns what the
// answer lacks: the value of the trailer, since it is known only after the body.
func (s *Server) addDownload(pattern, method, trailer string, do func(*http.Request, func(*httpbody.HttpBody) error) (left string, _ error)) {
	s.Handle(Route{Pattern: pattern, Right: aiboxv1.Right_RIGHT_EXECUTE, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, begin, caller := false, time.Now(), auth.From(r.Context())
		left, err := do(r, func(body *httpbody.HttpBody) error {
			if !begun {
				begun = true
				w.Header().Set("Content-Type", body.GetContentType())
				if trailer != "" {
					w.Header().Set("Trailer", trailer)
				}
			}
			_, err := w.Write(body.GetData())
			return err
		})
		s.record(r.Context(), Call{Tenant: caller.Tenant, Token: caller.Token, Method: method, Subject: r.PathValue("sandbox_id"), Took: time.Since(begin), Err: err})
		switch {
		case err != nil && begun:
			panic(http.ErrAbortHandler)
		case err != nil:
			WriteError(w, r, err)
		case left != "":
			w.Header().Set(trailer, trailerText(left))
		}
	})})
}

// leftOutTrailer is the trailer with what an archive lacks.
const leftOutTrailer = "Aibox-Left-Out"

// maxTrailer bounds the text of a trailer, in bytes: some clients, Go's among them, fail at
// trailers of 4 KiB.
const maxTrailer = 2 << 10

// cutMark ends a text that was cut.
const cutMark = "..."

// trailerText makes an escaped text the value of a trailer, in ASCII: other characters become
// \u and \U escapes. A text that is too long is cut.
func trailerText(text string) string {
	var out strings.Builder
	for _, r := range text {
		one := string(r)
		if r > unicode.MaxASCII {
			one = strings.Trim(strconv.QuoteRuneToASCII(r), "'")
		}
		if out.Len()+len(one) > maxTrailer-len(cutMark) {
			return out.String() + cutMark
		}
		out.WriteString(one)
	}
	return out.String()
}

// addUpload adds the REST of one method whose requests are a stream.
func (s *Server) addUpload(pattern, method string, right aiboxv1.Right, do func(context.Context, *http.Request) (proto.Message, error)) {
	s.Handle(Route{Pattern: pattern, Right: right, Upload: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin, caller := time.Now(), auth.From(r.Context())
		var message proto.Message
		err := checkEncoding(r, "") // the content is stored as it is sent
		begun := err == nil
		if begun {
			message, err = do(r.Context(), r)
		}
		s.record(r.Context(), Call{Tenant: caller.Tenant, Token: caller.Token, Method: method, Subject: r.PathValue("sandbox_id"), Made: made(message), Took: time.Since(begin), Err: err, Acted: begun})
		if err != nil {
			WriteError(w, r, err)
			return
		}
		data, err := protojson.Marshal(message)
		if err != nil {
			WriteError(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
	})})
}
