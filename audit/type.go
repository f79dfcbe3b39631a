package audit

// Type names what happened, as "subject.verb".
type Type string

// Refusal reports whether the event is a refusal by the network.
func (t Type) Refusal() bool {
	return t == DNSRefused || t == EgressRefused || t == AccessRefused
}

// The events of a session, in the order of its life.
const (
	SessionStarted    Type = "session.started"
	SessionQueued     Type = "session.queued"
	SessionAdmitted   Type = "session.admitted" // it was queued, and its turn came
	WorkspacePrepared Type = "workspace.prepared"
	NetworkGuarded    Type = "network.guarded"
	SandboxStarted    Type = "sandbox.started"
	ProbesRan         Type = "probes.ran"
	AgentStarted      Type = "agent.started"
	ProcessStarted    Type = "process.started" // a process of the user in the sandbox; comes before its start
	ProcessEnded      Type = "process.ended"
	FilesCopied       Type = "files.copied" // between the user and the sandbox; in place of the end of its process
	FileChanged       Type = "file.changed" // by the user; its data is a FileChange
	ModelAnswered     Type = "model.answered"
	DNSRefused        Type = "dns.refused"    // its data is a Query
	EgressAllowed     Type = "egress.allowed" // its data is an Egress
	EgressRefused     Type = "egress.refused" // its data is an Egress
	EgressClosed      Type = "egress.closed"  // its data is an EgressEnd
	EgressCounted     Type = "egress.counted" // requests that the log does not have one by one; its data is an EgressCount
	AccessRefused     Type = "access.refused" // packets past the proxy; in older logs any refusal
	AccessAsked       Type = "access.asked"   // its data is an AccessQuestion
	AccessAnswered    Type = "access.answered"
	PolicyChanged     Type = "policy.changed" // its data is a PolicyChange
	NoticeGiven       Type = "notice.given"
	RequestMade       Type = "request.made"
	RequestAnswered   Type = "request.answered"
	LimitExtended     Type = "limit.extended"
	SandboxClaimed    Type = "sandbox.claimed" // a warm sandbox became that of a tenant
	SandboxCreated    Type = "sandbox.created" // the agent creates a sandbox of its own; comes before its start
	SandboxRefused    Type = "sandbox.refused" // the agent asked for one that the session's limits or its policy do not permit
	SandboxEnded      Type = "sandbox.ended"   // one of the agent's own
	SandboxPaused     Type = "sandbox.paused"
	SandboxResumed    Type = "sandbox.resumed"
	SandboxSnapshot   Type = "sandbox.snapshot" // its state was stored
	SandboxRestored   Type = "sandbox.restored" // it continues from a snapshot
	StopRequested     Type = "stop.requested"
	LimitReached      Type = "limit.reached"
	LimitsDegraded    Type = "limits.degraded"
	PortOpened        Type = "port.opened" // its data is a Port
	PortClosed        Type = "port.closed" // its data is a PortEnd
	AgentEnded        Type = "agent.ended"
	SandboxDestroyed  Type = "sandbox.destroyed"
	ChangesComputed   Type = "changes.computed"
	WorkVerified      Type = "work.verified"
	AcceptBegun       Type = "accept.begun" // comes before anything is delivered
	ChangesAccepted   Type = "changes.accepted"
	DiscardBegun      Type = "discard.begun" // comes before anything is removed
	ChangesDiscarded  Type = "changes.discarded"
	ChangesRecovered  Type = "changes.recovered"
	SessionRepaired   Type = "session.repaired"
	SessionForked     Type = "session.forked"
	SessionContinued  Type = "session.continued"
	SessionReturned   Type = "session.returned"
	LogCut            Type = "log.cut"         // the end of the log had been lost; its data is a Cut
	LogContinued      Type = "log.continued"   // the log of the API's calls continues another file
	APICalled         Type = "api.called"      // only in the log of the API's calls
	SessionRemoved    Type = "session.removed" // the last event of a log in the archive
)
