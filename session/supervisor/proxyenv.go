package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"aibox/internal/lifeline"
	"aibox/internal/shellquote"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
)

// proxyEnv returns the variables with which programs in the sandbox find the egress proxy,
// as NAME=VALUE. The proxy cannot be bypassed, so a program that ignores them has no
// network access. Requests to the gateway do not go through the proxy.
func proxyEnv() []string {
	url := proxyURL()
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		// curl and others read only lower case for HTTP (https://httpoxy.org), some only upper.
		env = append(env, name+"="+url, strings.ToLower(name)+"="+url)
	}
	direct := strings.Join(slices.Concat([]string{"localhost", "127.0.0.1", "::1", netguard.Address().String()}, netguard.Names()), ",")
	return append(env,
		"NO_PROXY="+direct, "no_proxy="+direct,
		"NODE_USE_ENV_PROXY=1",                          // Node's fetch and http, from Node 22.21 on
		"YARN_HTTP_PROXY="+url, "YARN_HTTPS_PROXY="+url, // Yarn ignores the others since version 2
		"JAVA_TOOL_OPTIONS="+javaOptions(),
	)
}

// javaOptions returns the system properties that the classes of the JDK read. The last one
// makes Maven read them, too.
func javaOptions() string {
	host, port := netguard.Address().String(), netguard.PortProxy
	direct := strings.Join(slices.Concat([]string{"localhost", "127.*", "[::1]", host}, netguard.Names()), "|")
	return fmt.Sprintf("-Dhttp.proxyHost=%[1]s -Dhttp.proxyPort=%[2]d -Dhttps.proxyHost=%[1]s -Dhttps.proxyPort=%[2]d -Dhttp.nonProxyHosts=%[3]s -Daether.connector.http.useSystemProperties=true",
		host, port, direct)
}

// sshAgentSocket is the path of the ssh-agent's socket in the sandbox.
const sshAgentSocket = "/run/aibox/ssh-agent.sock"

// sshAgent returns the socket of the ssh-agent, and its variable; nil if the session has none.
func sshAgent(spec *session.Spec) (*lifeline.SSHAgent, []string) {
	if len(spec.SSHAgent) == 0 || !spec.Mode().HasProxy() {
		return nil, nil
	}
	target := netguard.SSHAgent()
	return &lifeline.SSHAgent{Path: sshAgentSocket, Proxy: proxyAddress(), Target: target.String()}, []string{"SSH_AUTH_SOCK=" + sshAgentSocket}
}

// sshConfigFile is read by the OpenSSH of Debian, Ubuntu and Fedora.
const sshConfigFile = "/etc/ssh/ssh_config.d/aibox.conf"

// sshKnownHosts is read by every OpenSSH, in addition to the user's own file.
const sshKnownHosts = "/etc/ssh/ssh_known_hosts"

// Files for programs that run without the variables, for example through env -i, su - or
// sudo. For other tools no file can be added: curl reads only the user's file, the path of
// an image's npmrc is known only to npm, and pip ignores NO_PROXY if a file names a proxy.
const (
	aptConfigFile = "/etc/apt/apt.conf.d/99aibox"
	// gitConfigFile is git's only file for the whole system, so the image's own one stays.
	gitConfigFile = "/etc/gitconfig"
	// profileFile is read by login shells.
	profileFile = "/etc/profile.d/aibox.sh"
)

// profile returns a script that exports variables, unless they are set.
func profile(env []string) string {
	var script strings.Builder
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		fmt.Fprintf(&script, "[ -n \"${%[1]s+x}\" ] || export %[1]s=%[2]s\n", name, shellquote.Quote(value))
	}
	return script.String()
}

// proxyFiles returns the files for programs that have no variable for a proxy, or that run
// without it. ssh trusts the key of a new host because the proxy has checked it. Because of
// the known keys, ssh asks the server for a key of a type that the proxy can check. The user's
// registries are set up in the same way.
func proxyFiles(hostKeys, registries []string) []lifeline.File {
	config := fmt.Sprintf("Host *\n\tProxyCommand %s connect %s %%h %%p\n\tStrictHostKeyChecking accept-new\n", runtime.InitPath, proxyAddress())
	files := []lifeline.File{
		{Path: sshConfigFile, Mode: 0o644, Data: []byte(config)},
		{Path: aptConfigFile, Mode: 0o644, Data: fmt.Appendf(nil, "Acquire::http::Proxy \"%[1]s\";\nAcquire::https::Proxy \"%[1]s\";\n", proxyURL())},
		{Path: gitConfigFile, Mode: 0o644, Data: fmt.Appendf(nil, "[http]\n\tproxy = %s\n", proxyURL()), Keep: true},
		{Path: profileFile, Mode: 0o644, Data: []byte(profile(slices.Concat(proxyEnv(), registries)))},
	}
	files = append(files, registryFiles(registries)...)
	if len(hostKeys) > 0 {
		files = append(files, lifeline.File{Path: sshKnownHosts, Mode: 0o644, Data: []byte(strings.Join(hostKeys, "\n") + "\n")})
	}
	return files
}
