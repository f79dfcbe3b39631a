package server

import (
	"context"
	"io"
	"time"

	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/api/auth"
	"aibox/api/creation"
	"aibox/api/store"
	"aibox/app/sandbox"
	"aibox/audit"
	"aibox/internal/files"
	"aibox/internal/screen"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/process"
	"aibox/session/snapshot"
	"aibox/session/volume"
)

// Services are the use cases that the server makes available.
type Services struct {
	Sandboxes Sandboxes
	Processes Processes
	// Files opens the files of a running sandbox, for a user of it; empty means the
	// sandbox's. Nil is unsupported.
	Files  func(ctx context.Context, id session.ID, user string) Files
	Quotas Quotas
	// Creations remembers creations and their keys. Nil ignores keys.
	Creations *creation.Recorder
	Audit     Audit
	// These are unsupported if they are nil.
	Sessions  aiboxv1connect.SessionsHandler
	Templates aiboxv1connect.TemplatesHandler
	Code      Code
}

// Tokens finds callers by their tokens; see store.Store.
type Tokens interface {
	Authenticate(ctx context.Context, token string) (auth.Caller, error)
	// Caller finds the caller whose token has an id.
	Caller(ctx context.Context, id string) (auth.Caller, error)
}

// Sandboxes are the use cases of sandboxes; see sandbox.Service.
type Sandboxes interface {
	Create(ctx context.Context, r sandbox.Request, step func(session.Step)) (sandbox.Sandbox, error)
	Get(ctx context.Context, tenant session.Tenant, id string) (sandbox.Sandbox, error)
	List(ctx context.Context, tenant session.Tenant, filter sandbox.Filter, size int, token string) (sandbox.Page, error)
	Update(ctx context.Context, tenant session.Tenant, id string, change session.SandboxChange) (sandbox.Sandbox, error)
	Extend(ctx context.Context, tenant session.Tenant, id string, by time.Duration) (sandbox.Sandbox, error)
	Destroy(ctx context.Context, tenant session.Tenant, id string) error
	Metrics(ctx context.Context, tenant session.Tenant, id string) (sandbox.Metrics, error)
	Running(ctx context.Context, tenant session.Tenant, id string) (session.ID, error)
	Network(ctx context.Context, tenant session.Tenant, id string) (sandbox.Network, error)
	SetNetwork(ctx context.Context, tenant session.Tenant, id string, lists session.NetworkLists) (sandbox.Network, error)
	CreateVolume(ctx context.Context, tenant session.Tenant, name string) (volume.Volume, error)
	ListVolumes(ctx context.Context, tenant session.Tenant) ([]volume.Volume, error)
	DeleteVolume(ctx context.Context, tenant session.Tenant, name string) error
}

// Pauser is implemented by Sandboxes if sandboxes can be paused.
type Pauser interface {
	Pause(ctx context.Context, tenant session.Tenant, id string) (sandbox.Sandbox, error)
	Resume(ctx context.Context, tenant session.Tenant, id string) (sandbox.Sandbox, error)
}

// Snapshotter is implemented by Sandboxes if the state of sandboxes can be stored.
type Snapshotter interface {
	Snapshot(ctx context.Context, tenant session.Tenant, id, name string, ttl time.Duration) (snapshot.Snapshot, error)
	ListSnapshots(ctx context.Context, tenant session.Tenant) ([]snapshot.Snapshot, error)
	DeleteSnapshot(ctx context.Context, tenant session.Tenant, id string) error
}

// Explainer is implemented by Sandboxes if decisions of the network can be explained.
type Explainer interface {
	Explain(ctx context.Context, tenant session.Tenant, id, host string, port int) (allowed bool, reason, rule string, err error)
}

// Processes are the use cases of processes; see manager.Manager.
type Processes interface {
	StartProcess(ctx context.Context, id session.ID, request process.Request) (process.Info, error)
	// RunProcess calls StartProcess, then started, and then ReadProcess from the first frame on.
	RunProcess(ctx context.Context, id session.ID, request process.Request, started func(process.Info) error, visit func(process.Frame) error) (process.Exit, error)
	Processes(ctx context.Context, id session.ID) ([]process.Info, error)
	// Process returns a fault of the kind NotFound if there is no such process.
	Process(ctx context.Context, id session.ID, number int) (process.Info, error)
	ReadProcess(ctx context.Context, id session.ID, number int, from uint64, visit func(process.Frame) error) (process.Exit, error)
	ProcessInput(ctx context.Context, id session.ID, number int, in io.Reader, end bool) error
	SignalProcess(ctx context.Context, id session.ID, number, signal int) error
	ResizeProcess(ctx context.Context, id session.ID, number int, size screen.Size) error
}

// Files are the files of a sandbox; see files.Client.
type Files interface {
	Stat(ctx context.Context, path files.Path, follow bool) (files.Entry, error)
	List(ctx context.Context, path files.Path, o files.ListOptions) (files.Page, error)
	MakeFolder(ctx context.Context, path files.Path, o files.MakeOptions) (files.Entry, error)
	Move(ctx context.Context, from, to files.Path, replace bool) (files.Entry, error)
	Remove(ctx context.Context, path files.Path, deep bool) error
	Read(ctx context.Context, path files.Path, part files.Range) (files.Entry, io.ReadCloser, error)
	Write(ctx context.Context, path files.Path, in io.Reader, o files.WriteOptions) (files.Entry, error)
	Watch(ctx context.Context, path files.Path, deep bool, watching func(), visit func(files.Event) error) error
}

// Quotas are the quotas of tenants and the usage that counts against them.
type Quotas interface {
	Quota(ctx context.Context, tenant session.Tenant) (store.Quota, error)
	Usage(ctx context.Context, tenant session.Tenant) (store.Quota, error)
}

// Audit reads the audit logs of sandboxes and sessions; see manager.Manager.
type Audit interface {
	// Load returns a sandbox or session by its whole id.
	Load(id session.ID) (session.Session, error)
	AuditLogs(ids ...string) ([]auditlog.Log, error)
	AuditEvents(logs []auditlog.Log, visit func(auditlog.Event) error) error
	VerifyAudit(log auditlog.Log) (audit.Verified, error)
}
