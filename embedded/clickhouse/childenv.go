package chengine

import (
	"slices"
	"strings"
	"syscall"
)

// childVariables are the environment variables that the child gets besides childEnv. SQL can read
// them in /proc/self/environ. So none of them may hold a secret: no settings of Mintlake, no
// proxies with passwords, no cloud credentials.
var childVariables = []string{
	"HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "PATH", "TMPDIR", "TZDIR",
	"LD_LIBRARY_PATH", "SSL_CERT_DIR", "SSL_CERT_FILE",
	"GOCOVERDIR", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK",
}

// childEnvironment returns the environment of the child: the childVariables of environ, and spec.
// The engine's time zone is UTC, not that of the machine: the same text must be the same time on
// every node. libchdb does not read <timezone> of its configuration file.
func childEnvironment(environ []string, spec string) []string {
	out := []string{childEnv + "=" + spec, "TZ=UTC"}
	for _, entry := range environ {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(childVariables, name) {
			out = append(out, entry)
		}
	}
	return out
}

// childAttributes put the child into a session and a process group of its own. SYSTEM SHUTDOWN,
// SYSTEM KILL and some crashes make the engine call kill(0, …), which signals its whole process
// group. In a shared group a query could end the parent in this way, and other processes of the
// same shell job. If the parent's thread ends, the kernel kills the child (Pdeathsig).
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
