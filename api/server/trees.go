package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/httpbody"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/auth"
	"aibox/internal/files"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/process"
)

// copying starts the process that copies files in the caller's sandbox.
func (f *fileService) copying(ctx context.Context, sandbox, user string, what process.Copy) (*processes, session.ID, int, error) {
	id, err := f.sandboxes.Running(ctx, auth.From(ctx).Tenant, sandbox)
	if err != nil {
		return nil, "", 0, err
	}
	info, err := f.processes.StartProcess(ctx, id, process.Request{Copy: &what, User: user, Linger: execLinger})
	return &processes{cases: f.processes}, id, info.ID, err
}

// maxCopyErrors bounds the error text of a copy that failed, in bytes.
const maxCopyErrors = 4 << 10

// errCutCopy reports that the archive of a copy has no end.
var errCutCopy = &failed{failure: failFailed, message: "the copy was cut off"}

// followCopy passes the archive that a process prints on to send, and returns once the
// process has ended. left is what the process reports to have left out, escaped.
func followCopy(ctx context.Context, p *processes, id session.ID, number int, send func([]byte) error) (left string, _ error) {
	stderr := bounded{bound: maxCopyErrors}
	exit, err := p.cases.ReadProcess(ctx, id, number, 1, func(frame process.Frame) error {
		switch frame.Kind {
		case process.Stdout:
			return send(frame.Data)
		case process.Stderr:
			stderr.add(frame.Data)
		case process.Lost:
			return errCutCopy
		default:
		}
		return nil
	})
	text := termtext.Escape(strings.TrimSpace(string(stderr.kept) + " " + exit.Error))
	switch {
	case err != nil:
		return "", err
	case exit.Code != 0 || exit.Error != "":
		return "", &failed{failure: failFailed, message: "in the sandbox: " + text}
	case exit.Cut:
		return "", errCutCopy
	default:
		return text, nil
	}
}

func (f *fileService) Download(ctx context.Context, r *connect.Request[aiboxv1.DownloadFilesRequest], stream *connect.ServerStream[aiboxv1.DownloadFilesResponse]) error {
	left, err := f.download(ctx, r.Msg, func(body *httpbody.HttpBody) error { return stream.Send(&aiboxv1.DownloadFilesResponse{Archive: body}) })
	if err != nil || left == "" {
		return err
	}
	return stream.Send(&aiboxv1.DownloadFilesResponse{LeftOut: left})
}

// download sends an archive. left is what it lacks.
func (f *fileService) download(ctx context.Context, m *aiboxv1.DownloadFilesRequest, send func(*httpbody.HttpBody) error) (left string, _ error) {
	name, err := checkPath(m.GetPath())
	if err != nil {
		return "", err
	}
	p, id, number, err := f.copying(ctx, m.GetSandboxId(), m.GetUser(), process.Copy{Path: string(name)})
	if err != nil {
		return "", err
	}
	left, err = followCopy(ctx, p, id, number, func(data []byte) error {
		return send(&httpbody.HttpBody{ContentType: "application/x-tar", Data: data})
	})
	if err != nil {
		p.end(ctx, id, number, syscall.SIGKILL)
	}
	return left, err
}

func (f *fileService) Upload(ctx context.Context, stream *connect.ClientStream[aiboxv1.UploadFilesRequest]) (*connect.Response[aiboxv1.UploadFilesResponse], error) {
	first, err := firstOf(stream)
	if err != nil {
		return nil, err
	}
	data := func(m *aiboxv1.UploadFilesRequest) []byte { return m.GetArchive().GetData() }
	answer, err := f.upload(ctx, first, receiver(stream, bytes.Clone(data(first)), data))
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(answer), nil
}

// upload extracts an archive according to the first message of a stream.
func (f *fileService) upload(ctx context.Context, first *aiboxv1.UploadFilesRequest, in io.Reader) (*aiboxv1.UploadFilesResponse, error) {
	name, err := checkPath(first.GetPath())
	if err != nil {
		return nil, err
	}
	if first.GetName() == "" {
		at, err := f.files(ctx, first.GetSandboxId(), first.GetUser())
		if err == nil {
			_, err = at.MakeFolder(ctx, name, files.MakeOptions{Parents: true})
		}
		if err != nil {
			return nil, fileError(err)
		}
	}
	p, id, number, err := f.copying(ctx, first.GetSandboxId(), first.GetUser(), process.Copy{Path: string(name), Into: true, Name: first.GetName()})
	if err != nil {
		return nil, err
	}
	left, err := feedCopy(ctx, p, id, number, in)
	if err != nil {
		return nil, err
	}
	return &aiboxv1.UploadFilesResponse{LeftOut: left}, nil
}

// feedCopy passes an archive on to a process, and returns once the process has ended. It reads
// the process all the time, since that ends when nothing has read it for a while. left is what
// the process reports to have left out, escaped.
func feedCopy(ctx context.Context, p *processes, id session.ID, number int, in io.Reader) (left string, _ error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	fed := make(chan error, 1)
	go func() {
		err := p.cases.ProcessInput(ctx, id, number, in, true)
		if errors.Is(err, session.ErrWrongState) { // the process has ended, and has the reason
			err = nil
		}
		if err != nil {
			stop() // the process waits for the rest
		}
		fed <- err
	}()
	left, err := followCopy(ctx, p, id, number, func([]byte) error { return nil })
	isBroken := ctx.Err() != nil
	stop()
	inputErr := <-fed
	switch {
	case err == nil:
		return left, nil
	case isBroken && inputErr != nil:
		err = inputErr
	}
	p.end(ctx, id, number, syscall.SIGHUP) // it removes the file that it is writing
	return "", err
}
