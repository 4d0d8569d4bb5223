package chengine

import (
	"slices"
	"strings"
	"syscall"
)

// childVariables are the variables of the environment that the child gets besides its
// specification. SQL can read them in /proc/self/environ, so nothing that may hold a secret is
// among them: no settings of Mintlake, no proxies with passwords, no cloud credentials.
var childVariables = []string{
	"HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "PATH", "TMPDIR", "TZ", "TZDIR",
	"LD_LIBRARY_PATH", "SSL_CERT_DIR", "SSL_CERT_FILE",
	"GOCOVERDIR", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK",
}

// childEnvironment is the environment of the child: what it needs of environ, and spec.
func childEnvironment(environ []string, spec string) []string {
	out := []string{childEnv + "=" + spec}
	for _, entry := range environ {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(childVariables, name) {
			out = append(out, entry)
		}
	}
	return out
}

// childAttributes put the child into a session and a process group of its own. The engine answers
// SYSTEM SHUTDOWN, SYSTEM KILL and some crashes with kill(0, …), which is for its whole process
// group: in a group shared with the parent, a query would end the parent and whatever the same
// shell job runs. The kernel kills the child when the parent's thread ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
