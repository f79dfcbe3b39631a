package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/types/known/emptypb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/api/eventstream"
	"aibox/internal/fault"
	"aibox/internal/files"
	"aibox/internal/termtext"
	"aibox/session"
)

// fileService serves the service Files.
type fileService struct {
	sandboxes Sandboxes
	open      func(ctx context.Context, id session.ID, user string) Files
	processes Processes
	alive     time.Duration // between keep-alive events of a watch
}

// files opens the files of the caller's sandbox. The supervisor determines the sandbox's user.
func (f *fileService) files(ctx context.Context, sandbox, user string) (Files, error) {
	id, err := f.sandboxes.Running(ctx, auth.From(ctx).Tenant, sandbox)
	if err != nil {
		return nil, err
	}
	if f.open == nil {
		return nil, errUnsupported
	}
	return f.open(ctx, id, user), nil
}

// checkPath checks a path as far as that is possible outside of the sandbox.
func checkPath(text string) (files.Path, error) {
	if text == "" || len(text) > files.MaxPath || strings.ContainsRune(text, 0) {
		return "", fault.New(fault.Usage, "a path has from 1 to %d bytes and no NUL", files.MaxPath)
	}
	return files.Path(text), nil
}

// kinds are the types of files in the schema.
var kinds = map[files.Kind]aiboxv1.FileType{
	files.Regular: aiboxv1.FileType_FILE_TYPE_FILE,
	files.Folder:  aiboxv1.FileType_FILE_TYPE_DIRECTORY,
	files.Symlink: aiboxv1.FileType_FILE_TYPE_SYMLINK,
	files.Special: aiboxv1.FileType_FILE_TYPE_OTHER,
}

// utf8 returns text as valid UTF-8, which Protobuf requires.
func utf8[T ~string](text T) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

func toFile(e files.Entry) *aiboxv1.FileInfo {
	return &aiboxv1.FileInfo{
		Path: utf8(e.Path), Name: utf8(path.Base(string(e.Path))), Type: kinds[e.Kind], SizeBytes: e.Size, Mode: e.Mode,
		Uid: e.UID, Gid: e.GID, Owner: utf8(e.Owner), Group: utf8(e.Group), ModifyTime: toTime(e.Modified), Target: utf8(e.Target),
	}
}

// respondFile returns the response that is a file.
func respondFile(e files.Entry, err error) (*connect.Response[aiboxv1.FileInfo], error) {
	if err != nil {
		return nil, fileError(err)
	}
	return connect.NewResponse(toFile(e)), nil
}

// fileError returns the error of an operation with the kind that it has over the API.
func fileError(err error) error {
	var e *files.Error
	if !errors.As(err, &e) {
		return err
	}
	var f failure
	switch e.Code {
	case files.NotFound:
		f = failNotFound
	case files.Exists, files.NotFolder, files.IsFolder, files.NotEmpty, files.NotRegular:
		f = failConflict
	case files.Permission:
		f = failRefused
	case files.NoSpace, files.Exhausted:
		f = failLimit
	case files.Invalid:
		f = failInvalid
	default:
		f = failFailed
	}
	return &failed{failure: f, message: termtext.Escape(e.Error())}
}

// located is a message that names a file in a sandbox.
type located interface {
	GetSandboxId() string
	GetPath() string
	GetUser() string
}

// at returns the path that a message names, and the files of its sandbox.
func (f *fileService) at(ctx context.Context, m located) (files.Path, Files, error) {
	name, err := checkPath(m.GetPath())
	if err != nil {
		return "", nil, err
	}
	at, err := f.files(ctx, m.GetSandboxId(), m.GetUser())
	return name, at, err
}

func (f *fileService) Stat(ctx context.Context, r *connect.Request[aiboxv1.StatFileRequest]) (*connect.Response[aiboxv1.FileInfo], error) {
	name, at, err := f.at(ctx, r.Msg)
	if err != nil {
		return nil, err
	}
	return respondFile(at.Stat(ctx, name, false))
}

func (f *fileService) List(ctx context.Context, r *connect.Request[aiboxv1.ListFilesRequest]) (*connect.Response[aiboxv1.ListFilesResponse], error) {
	m := r.Msg
	switch {
	case m.GetDepth() < 0 || m.GetDepth() > files.MaxDepth:
		return nil, fault.New(fault.Usage, "the depth is from 0 to %d, not %d", files.MaxDepth, m.GetDepth())
	case m.GetPageSize() < 0 || m.GetPageSize() > files.MaxPage:
		return nil, fault.New(fault.Usage, "a page has up to %d files, not %d", files.MaxPage, m.GetPageSize())
	}
	// The token is the last name of its page. It has to be exact, also if that is no valid UTF-8:
	// a later page would otherwise begin before that name, and a list of such names never end.
	after, err := base64.RawURLEncoding.DecodeString(m.GetPageToken())
	if err != nil {
		return nil, fault.New(fault.Usage, "%q is not the token of a page", m.GetPageToken())
	}
	name, at, err := f.at(ctx, m)
	if err != nil {
		return nil, err
	}
	page, err := at.List(ctx, name, files.ListOptions{Depth: int(m.GetDepth()), Limit: int(m.GetPageSize()), After: files.Path(after)})
	if err != nil {
		return nil, fileError(err)
	}
	out := &aiboxv1.ListFilesResponse{NextPageToken: base64.RawURLEncoding.EncodeToString([]byte(page.Next))}
	for _, entry := range page.Entries {
		out.Entries = append(out.Entries, toFile(entry))
	}
	return connect.NewResponse(out), nil
}

func (f *fileService) MakeDir(ctx context.Context, r *connect.Request[aiboxv1.MakeDirRequest]) (*connect.Response[aiboxv1.FileInfo], error) {
	name, at, err := f.at(ctx, r.Msg)
	if err != nil {
		return nil, err
	}
	return respondFile(at.MakeFolder(ctx, name, files.MakeOptions{Mode: r.Msg.GetMode(), Parents: true}))
}

func (f *fileService) Move(ctx context.Context, r *connect.Request[aiboxv1.MoveFileRequest]) (*connect.Response[aiboxv1.FileInfo], error) {
	source, err := checkPath(r.Msg.GetSource())
	if err != nil {
		return nil, err
	}
	destination, err := checkPath(r.Msg.GetDestination())
	if err != nil {
		return nil, err
	}
	at, err := f.files(ctx, r.Msg.GetSandboxId(), r.Msg.GetUser())
	if err != nil {
		return nil, err
	}
	return respondFile(at.Move(ctx, source, destination, r.Msg.GetOverwrite()))
}

func (f *fileService) Remove(ctx context.Context, r *connect.Request[aiboxv1.RemoveFileRequest]) (*connect.Response[emptypb.Empty], error) {
	name, at, err := f.at(ctx, r.Msg)
	if err != nil {
		return nil, err
	}
	if err := at.Remove(ctx, name, r.Msg.GetRecursive()); err != nil {
		return nil, fileError(err)
	}
	return connect.NewResponse(&emptypb.Empty{}), nil
}

// pieceSize is the size of the pieces of a file in a stream, in bytes.
const pieceSize = 256 << 10

// sendPieces sends all of in.
func sendPieces(in io.Reader, contentType string, send func(*httpbody.HttpBody) error) error {
	buf := make([]byte, pieceSize)
	for first := true; ; first = false {
		n, err := io.ReadFull(in, buf)
		atEnd := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !atEnd {
			return fileError(err)
		}
		if n > 0 || first { // an empty file also gets an answer
			if err := send(&httpbody.HttpBody{ContentType: contentType, Data: buf[:n]}); err != nil {
				return err
			}
		}
		if atEnd {
			return nil
		}
	}
}

func (f *fileService) Read(ctx context.Context, r *connect.Request[aiboxv1.ReadFileRequest], stream *connect.ServerStream[aiboxv1.ReadFileResponse]) error {
	return f.read(ctx, r.Msg, func(body *httpbody.HttpBody) error { return stream.Send(&aiboxv1.ReadFileResponse{Content: body}) })
}

// read sends the content of a file.
func (f *fileService) read(ctx context.Context, m *aiboxv1.ReadFileRequest, send func(*httpbody.HttpBody) error) error {
	if m.GetOffset() < 0 || m.GetLength() < 0 {
		return fault.New(fault.Usage, "offset and length cannot be negative")
	}
	name, at, err := f.at(ctx, m)
	if err != nil {
		return err
	}
	_, in, err := at.Read(ctx, name, files.Range{Offset: m.GetOffset(), Length: m.GetLength()})
	if err != nil {
		return fileError(err)
	}
	defer in.Close()
	return sendPieces(in, "application/octet-stream", send)
}

func (f *fileService) Write(ctx context.Context, stream *connect.ClientStream[aiboxv1.WriteFileRequest]) (*connect.Response[aiboxv1.FileInfo], error) {
	first, err := firstOf(stream)
	if err != nil {
		return nil, err
	}
	data := func(m *aiboxv1.WriteFileRequest) []byte { return m.GetContent().GetData() }
	return respondFile(f.write(ctx, first, receiver(stream, bytes.Clone(data(first)), data)))
}

// write writes the file that the first message of a stream names.
func (f *fileService) write(ctx context.Context, first *aiboxv1.WriteFileRequest, in io.Reader) (files.Entry, error) {
	name, at, err := f.at(ctx, first)
	if err != nil {
		return files.Entry{}, err
	}
	return at.Write(ctx, name, in, files.WriteOptions{Mode: first.GetMode(), Parents: true})
}

// changes are the types of changes in the schema.
var changes = map[files.Change]aiboxv1.FileEventType{
	files.Created:  aiboxv1.FileEventType_FILE_EVENT_TYPE_CREATED,
	files.Written:  aiboxv1.FileEventType_FILE_EVENT_TYPE_WRITTEN,
	files.Removed:  aiboxv1.FileEventType_FILE_EVENT_TYPE_REMOVED,
	files.Renamed:  aiboxv1.FileEventType_FILE_EVENT_TYPE_RENAMED,
	files.Chmod:    aiboxv1.FileEventType_FILE_EVENT_TYPE_ATTRIBUTES,
	files.Overflow: aiboxv1.FileEventType_FILE_EVENT_TYPE_OVERFLOW,
}

func (f *fileService) Watch(ctx context.Context, r *connect.Request[aiboxv1.WatchFilesRequest], stream *connect.ServerStream[aiboxv1.FileEvent]) error {
	name, at, err := f.at(ctx, r.Msg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watching := func() *aiboxv1.FileEvent { return &aiboxv1.FileEvent{} }
	var sending *eventstream.Sender[*aiboxv1.FileEvent]
	err = at.Watch(ctx, name, r.Msg.GetRecursive(), func() {
		sending = eventstream.NewSender(stream.Send, watching, cancel, f.alive)
		_ = sending.Send(watching()) // the next event has the error
	}, func(e files.Event) error {
		if e.Change == files.Ended {
			return nil
		}
		return sending.Send(&aiboxv1.FileEvent{Type: changes[e.Change], Path: utf8(e.Path), NewPath: utf8(e.To), Directory: e.Folder})
	})
	if sending != nil {
		err = cmp.Or(sending.End(), err)
	}
	if err != nil {
		return fileError(err)
	}
	return nil
}
