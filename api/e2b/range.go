package e2b

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
)

// filePart is the part of a file that a request names.
type filePart struct {
	offset int64
	size   int64 // 0: the file ends before it
	whole  int64 // the size of the file
}

// header returns the header Content-Range of the part.
func (p filePart) header() string {
	if p.size == 0 {
		return fmt.Sprintf("bytes */%d", p.whole)
	}
	return fmt.Sprintf("bytes %d-%d/%d", p.offset, p.offset+p.size-1, p.whole)
}

// partOf returns the part of a file that a request names, and completes the request to read it;
// nil means the whole file. So a download that was cut off continues where it was.
func (s *Server) partOf(r *http.Request, request *aiboxv1.ReadFileRequest) (*filePart, error) {
	first, last, ok := parseRange(r.Header.Get("Range"))
	if !ok || r.Header.Get("If-Range") != "" { // there are no validators that it could match
		return nil, nil //nolint:nilnil // see above
	}
	found, err := s.backend.files.Stat(r.Context(), connect.NewRequest(&aiboxv1.StatFileRequest{SandboxId: request.SandboxId, User: request.User, Path: request.Path}))
	if err != nil {
		return nil, s.fileError(r.Context(), err)
	}
	if found.Msg.Type != aiboxv1.FileType_FILE_TYPE_FILE {
		return nil, nil //nolint:nilnil // the size of a link is not that of its file
	}
	part := &filePart{whole: found.Msg.SizeBytes}
	switch {
	case first < 0: // the last bytes
		part.offset = max(part.whole-last, 0)
		part.size = part.whole - part.offset
	case first < part.whole:
		part.offset, part.size = first, min(last, part.whole-1)-first+1
	}
	request.Offset, request.Length = part.offset, part.size
	return part, nil
}

// parseRange reads the header Range. As RFC 9110 permits, it ignores other units, several
// ranges, and what it cannot read. A first of -1 means the last bytes of the file, as many as
// last says.
func parseRange(header string) (first, last int64, ok bool) {
	text, isBytes := strings.CutPrefix(header, "bytes=")
	from, to, isRange := strings.Cut(text, "-")
	if !isBytes || !isRange {
		return 0, 0, false
	}
	number := func(text string, absent int64) int64 {
		if text == "" {
			return absent
		}
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			ok = false
		}
		return int64(n) //nolint:gosec // it has 63 bits
	}
	ok = from != "" || to != ""
	first, last = number(from, -1), number(to, 1<<62)
	return first, last, ok && (first < 0 || first <= last)
}
