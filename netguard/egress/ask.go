package egress

import "aibox/netguard"

// Question asks the user whether requests to a destination may pass.
type Question struct {
	Destination netguard.Destination
	Method      string // of the first request that waits
	Path        string // of an HTTP request, without its query; raw
	Verdict     netguard.Verdict
}

// Answer is the user's answer. The zero value refuses.
type Answer struct {
	Allowed bool   // the waiting requests may pass, even if the policy still refuses them
	Reason  string // of a refusal: a clause, such as "you answered no"
}
