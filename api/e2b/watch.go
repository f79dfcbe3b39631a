package e2b

import (
	"context"
	"errors"
	"path"
	"strings"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/e2b/filesystempb"
)

// watchOptions are the options for a watch.
type watchOptions struct {
	path      string
	recursive bool
	entries   bool // events contain their entries
}

var aliveWatch = &filesystempb.WatchDirResponse{Event: &filesystempb.WatchDirResponse_Keepalive{Keepalive: &filesystempb.WatchDirResponse_KeepAlive{}}}

// WatchDir sends the changes in a directory until the call ends.
func (f *filesystem) WatchDir(ctx context.Context, r *connect.Request[filesystempb.WatchDirRequest], out *connect.ServerStream[filesystempb.WatchDirResponse]) error {
	sender := newSender(r.Header(), aliveWatch, out.Send)
	defer func() { _ = sender.End() }()
	o := watchOptions{path: r.Msg.Path, recursive: r.Msg.Recursive, entries: r.Msg.IncludeEntry}
	return f.watch(ctx, o, func() error {
		return sender.Send(&filesystempb.WatchDirResponse{Event: &filesystempb.WatchDirResponse_Start{Start: &filesystempb.WatchDirResponse_StartEvent{}}})
	}, func(e *filesystempb.FilesystemEvent) error {
		return sender.Send(&filesystempb.WatchDirResponse{Event: &filesystempb.WatchDirResponse_Filesystem{Filesystem: e}})
	})
}

var changeTypes = map[aiboxv1.FileEventType]filesystempb.EventType{
	aiboxv1.FileEventType_FILE_EVENT_TYPE_CREATED:    filesystempb.EventType_EVENT_TYPE_CREATE,
	aiboxv1.FileEventType_FILE_EVENT_TYPE_WRITTEN:    filesystempb.EventType_EVENT_TYPE_WRITE,
	aiboxv1.FileEventType_FILE_EVENT_TYPE_REMOVED:    filesystempb.EventType_EVENT_TYPE_REMOVE,
	aiboxv1.FileEventType_FILE_EVENT_TYPE_RENAMED:    filesystempb.EventType_EVENT_TYPE_RENAME,
	aiboxv1.FileEventType_FILE_EVENT_TYPE_ATTRIBUTES: filesystempb.EventType_EVENT_TYPE_CHMOD,
}

// watch visits the changes in a directory. It calls started before the first one. It returns
// when the watch ends, or with an error of the functions.
func (f *filesystem) watch(ctx context.Context, o watchOptions, started func() error, visit func(*filesystempb.FilesystemEvent) error) error {
	watched, err := f.stat(ctx, o.path)
	if err != nil {
		return err
	}
	if watched.Type == filesystempb.FileType_FILE_TYPE_FILE {
		return connect.NewError(connect.CodeInvalidArgument, errors.New("only directories can be watched"))
	}
	changes, err := f.api.files.Watch(ctx, connect.NewRequest(&aiboxv1.WatchFilesRequest{
		SandboxId: callerOf(ctx).sandbox, User: callerOf(ctx).user, Path: o.path, Recursive: o.recursive,
	}))
	if err != nil {
		return f.api.insideError(ctx, err)
	}
	defer changes.Close()
	for first := true; changes.Receive(); first = false {
		if first {
			if err := started(); err != nil {
				return err
			}
		}
		change := changes.Msg()
		if change.Type == aiboxv1.FileEventType_FILE_EVENT_TYPE_OVERFLOW {
			return connect.NewError(connect.CodeDataLoss, errors.New("there were too many changes to report: list the directory, and watch it again"))
		}
		for _, event := range f.events(ctx, o, watched.Path, change) {
			if err := visit(event); err != nil {
				return err
			}
		}
	}
	if err := changes.Err(); err != nil {
		return f.api.insideError(ctx, err)
	}
	return nil
}

// events returns the events for a change: none for a keep-alive, and two for a file that was
// renamed in the watched directory.
func (f *filesystem) events(ctx context.Context, o watchOptions, folder string, change *aiboxv1.FileEvent) []*filesystempb.FilesystemEvent {
	event := &filesystempb.FilesystemEvent{Name: relative(folder, change.Path), Type: changeTypes[change.Type]}
	switch event.Type {
	case filesystempb.EventType_EVENT_TYPE_UNSPECIFIED:
		return nil
	case filesystempb.EventType_EVENT_TYPE_REMOVE:
		return []*filesystempb.FilesystemEvent{event}
	case filesystempb.EventType_EVENT_TYPE_RENAME:
		if change.NewPath == "" {
			return []*filesystempb.FilesystemEvent{event}
		}
		created := &aiboxv1.FileEvent{Type: aiboxv1.FileEventType_FILE_EVENT_TYPE_CREATED, Path: change.NewPath}
		return append([]*filesystempb.FilesystemEvent{event}, f.events(ctx, o, folder, created)...)
	}
	if o.entries {
		if entry, err := f.stat(ctx, change.Path); err == nil { // otherwise it is gone already
			event.Entry = entry
		}
	}
	return []*filesystempb.FilesystemEvent{event}
}

// relative returns a path below folder without it.
func relative(folder, name string) string {
	rest, below := strings.CutPrefix(name, strings.TrimSuffix(folder, "/")+"/")
	if !below {
		return path.Base(name)
	}
	return rest
}
