package doctor

// LimitEnforcer describes the mechanism that limits a sandbox's memory and processors.
type LimitEnforcer struct {
	Name string
	// NoScope is the reason why it is not a scope of the user's systemd; nil if it is one.
	NoScope error
}

// limitsFinding reports the mechanism that enforces limits. Both mechanisms work; without
// systemd, processors can only be limited in whole numbers.
func limitsFinding(by LimitEnforcer) Finding {
	f := Finding{Name: "resource limits", State: OK, Detail: by.Name + " limits memory, processors and processes"}
	if by.NoScope != nil {
		f.Detail = by.Name + " limits memory and whole processors, by measurement and affinity (" + by.NoScope.Error() + ")"
	}
	return f
}
