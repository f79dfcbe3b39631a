package netguard

import (
	"errors"
	"fmt"
	"strings"
)

// SSHLogin is a user on an SSH server, for whom the user's ssh-agent may sign.
type SSHLogin struct {
	User        string
	Destination Destination
}

// maxSSHUser is the longest name of a user, in bytes.
const maxSSHUser = 64

// ParseSSHLogin parses USER@HOST or USER@HOST:PORT. HOST is a name or an address, not a
// wildcard. The default port is 22.
func ParseSSHLogin(text string) (SSHLogin, error) {
	at := strings.LastIndexByte(text, '@')
	if at <= 0 {
		return SSHLogin{}, fmt.Errorf("%q is not USER@HOST, such as git@github.com", clip(text))
	}
	l := SSHLogin{User: text[:at]}
	if len(l.User) > maxSSHUser || !isSSHUser(l.User) {
		return SSHLogin{}, fmt.Errorf("%q is not the name of a user", clip(l.User))
	}
	host, port, err := splitPort(text[at+1:])
	if err != nil {
		return SSHLogin{}, err
	}
	if strings.Contains(host, "*") {
		return SSHLogin{}, errors.New("an SSH login is for one server, not for a pattern")
	}
	if l.Destination.Host, err = ParseHost(host); err != nil {
		return SSHLogin{}, err
	}
	l.Destination.Port = portSSH
	if port != "" {
		l.Destination.Port, err = parsePort(port)
	}
	return l, err
}

const portSSH = 22

func isSSHUser(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= lower(c) && lower(c) <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("._-+$", c) >= 0) {
			return false
		}
	}
	return true
}

// String returns the login in its canonical form. ParseSSHLogin parses it again.
func (l SSHLogin) String() string { return l.User + "@" + l.Destination.String() }

// SSHAgent is the destination for which the egress proxy passes requests on to the user's
// ssh-agent. No host can have this name.
func SSHAgent() Destination {
	return Destination{Host: nameHost("ssh-agent.aibox.internal"), Port: portSSH}
}
