package e2b

import (
	"encoding/json"
	"net/http"
	"slices"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
)

// everything are the entries that mean all addresses.
var everything = []string{"0.0.0.0/0", "::/0"}

// networkJSON defines what a sandbox can reach, and who can reach it.
type networkJSON struct {
	AllowOut *[]string `json:"allowOut,omitempty"`
	DenyOut  *[]string `json:"denyOut,omitempty"`
	// The rest is refused.
	Rules        map[string]json.RawMessage `json:"rules,omitempty"`
	EgressProxy  json.RawMessage            `json:"egressProxy,omitempty"`
	PublicAccess *bool                      `json:"allowPublicTraffic,omitempty"`
	MaskHost     string                     `json:"maskRequestHost,omitempty"`
	HTTPSPorts   []int                      `json:"httpsPorts,omitempty"`
}

// networkUpdateJSON replaces what a sandbox can reach.
type networkUpdateJSON struct {
	networkJSON
	Internet *bool `json:"allow_internet_access"`
}

// check refuses settings that aibox's network policies do not have.
func (n *networkJSON) check() error {
	reason := ""
	switch {
	case len(n.Rules) > 0:
		reason = "aibox adds no headers to requests by rules of a sandbox: leave out network.rules"
	case isGiven(n.EgressProxy):
		reason = "aibox sends a sandbox's traffic to no other proxy: leave out network.egressProxy"
	case n.PublicAccess != nil && *n.PublicAccess:
		reason = "a sandbox's ports need the token trafficAccessToken in the header " + trafficHeader + ": leave out network.allowPublicTraffic"
	case n.MaskHost != "":
		reason = "aibox does not change the host of requests to a sandbox's ports: leave out network.maskRequestHost"
	case len(n.HTTPSPorts) > 0:
		reason = "aibox forwards requests to a sandbox's ports as HTTP: leave out network.httpsPorts"
	default:
		return nil
	}
	return &apiError{http.StatusNotImplemented, reason}
}

// networkPolicy returns the policy for what a request says; nil, the tenant's default, if it
// says nothing. As in the packages, an allowed host is allowed although everything is denied.
// Unlike there, an allow list allows nothing else, and an empty one nothing at all.
func networkPolicy(internet *bool, n *networkJSON) (*aiboxv1.NetworkPolicy, error) {
	var allow, deny []string
	listed := n != nil && n.AllowOut != nil
	if n != nil {
		if err := n.check(); err != nil {
			return nil, err
		}
		if listed {
			allow = *n.AllowOut
		}
		if n.DenyOut != nil {
			deny = *n.DenyOut
		}
	}
	isEverything := func(entry string) bool { return slices.Contains(everything, entry) }
	denyAll := internet != nil && !*internet || slices.ContainsFunc(deny, isEverything)
	allowAll := slices.ContainsFunc(allow, isEverything)
	deny = slices.DeleteFunc(slices.Clone(deny), isEverything)
	switch {
	case allowAll && denyAll:
		return nil, &apiError{http.StatusBadRequest, "the network settings both allow and deny everything"}
	case !allowAll && (listed || denyAll):
		return policy(aiboxv1.NetworkMode_NETWORK_MODE_ALLOWLIST, &aiboxv1.HostList{Hosts: allow}, deny), nil
	case allowAll, internet != nil, len(deny) > 0:
		return policy(aiboxv1.NetworkMode_NETWORK_MODE_PUBLIC, nil, deny), nil
	default:
		return nil, nil
	}
}

func policy(mode aiboxv1.NetworkMode, allow *aiboxv1.HostList, deny []string) *aiboxv1.NetworkPolicy {
	p := &aiboxv1.NetworkPolicy{Mode: mode, Allow: allow}
	if len(deny) > 0 {
		p.Deny = &aiboxv1.HostList{Hosts: deny}
	}
	return p
}

// describeNetwork returns a policy in the packages' format, and whether it allows every
// public host.
func describeNetwork(p *aiboxv1.NetworkPolicy) (*networkJSON, *bool) {
	allow, deny := p.GetAllow().GetHosts(), p.GetDeny().GetHosts()
	public := p.GetMode() == aiboxv1.NetworkMode_NETWORK_MODE_PUBLIC
	if !public {
		deny = append([]string{everything[0]}, deny...)
	}
	n := &networkJSON{PublicAccess: new(bool)}
	if len(allow) > 0 {
		n.AllowOut = &allow
	}
	if len(deny) > 0 {
		n.DenyOut = &deny
	}
	return n, &public
}

// setNetwork replaces both lists of a running sandbox's network policy, even those that the
// request omits. A sandbox keeps its mode, so one with an allow list cannot get access to
// every host, or the reverse.
func (s *Server) setNetwork(w http.ResponseWriter, r *http.Request) error {
	var body networkUpdateJSON
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	wanted, err := networkPolicy(body.Internet, &body.networkJSON)
	if err != nil {
		return err
	}
	found, err := s.live(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	mode := found.GetNetwork().GetMode()
	if wanted != nil && wanted.Mode != mode {
		return &apiError{http.StatusBadRequest, modeSentences[wanted.Mode]}
	}
	lists := &aiboxv1.NetworkPolicy{Mode: mode, Allow: &aiboxv1.HostList{Hosts: wanted.GetAllow().GetHosts()}, Deny: &aiboxv1.HostList{Hosts: wanted.GetDeny().GetHosts()}}
	if mode == aiboxv1.NetworkMode_NETWORK_MODE_PUBLIC {
		lists.Allow = nil
	}
	if _, err := s.backend.network.Set(r.Context(), connect.NewRequest(&aiboxv1.SetNetworkRequest{SandboxId: found.SandboxId, Policy: lists})); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// modeSentences explain why a running sandbox cannot change to a mode.
var modeSentences = map[aiboxv1.NetworkMode]string{
	aiboxv1.NetworkMode_NETWORK_MODE_PUBLIC:    "a running sandbox does not get access to every host: create it with allowInternetAccess",
	aiboxv1.NetworkMode_NETWORK_MODE_ALLOWLIST: "a running sandbox does not get an allow list: create it with network.allowOut, or with allowInternetAccess: false",
}
