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
	entries   bool // events have the entries that they are about
}

var aliveWatch = &filesystempb.WatchDirResponse{Event: &filesystempb.WatchDirResponse_Keepalive{Keepalive: &filesystempb.WatchDirResponse_KeepAlive{}}}

// WatchDir sends the changes in a directory until the call ends.
func (f *filesystem) WatchDir(ctx context.Context, r *connect.Request[filesystempb.WatchDirRequest], out *connect.ServerStream[filesystempb.WatchDirResponse]) error {
	sender := newSender(r.Header(), aliveWatch, out.Send)
	defer sender.close()
	o := watchOptions{path: r.Msg.Path, recursive: r.Msg.Recursive, entries: r.Msg.IncludeEntry}
	return f.watch(ctx, o, func() error {
		return sender.send(&filesystempb.WatchDirResponse{Event: &filesystempb.WatchDirResponse_Start{Start: &filesystempb.WatchDirResponse_StartEvent{}}})
	}, func(e *filesystempb.FilesystemEvent) error {
		return sender.send(&filesystempb.WatchDirResponse{Event: &filesystempb.WatchDirResponse_Filesystem{Filesystem: e}})
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
		SandboxId: callerOf(ctx).sandbox, Path: o.path, Recursive: o.recursive,
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
		event := &filesystempb.FilesystemEvent{Name: relative(watched.Path, change.Path), Type: changeTypes[change.Type]}
		if event.Type == filesystempb.EventType_EVENT_TYPE_UNSPECIFIED {
			continue
		}
		if o.entries {
			event.Entry = f.entryOf(ctx, change)
		}
		if err := visit(event); err != nil {
			return err
		}
	}
	if err := changes.Err(); err != nil {
		return f.api.insideError(ctx, err)
	}
	return nil
}

// entryOf returns the entry that a change is about; nil if it is gone.
func (f *filesystem) entryOf(ctx context.Context, change *aiboxv1.FileEvent) *filesystempb.EntryInfo {
	switch change.Type {
	case aiboxv1.FileEventType_FILE_EVENT_TYPE_REMOVED, aiboxv1.FileEventType_FILE_EVENT_TYPE_RENAMED:
		return nil
	}
	entry, err := f.stat(ctx, change.Path)
	if err != nil {
		return nil
	}
	return entry
}

// relative returns a path below folder without it.
func relative(folder, name string) string {
	rest, below := strings.CutPrefix(name, strings.TrimSuffix(folder, "/")+"/")
	if !below {
		return path.Base(name)
	}
	return rest
}
