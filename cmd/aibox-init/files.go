package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/files"
	"aibox/internal/fileserver"
	"aibox/internal/lifeline"
	"aibox/internal/relay"
)

// filesCommand makes init serve files to the supervisor; see serveFiles.
const filesCommand = "files"

// maxFileServers bounds the processes that serve files. One more ends the one that has not
// been used for longest.
const maxFileServers = 8

// fileServers are the processes that serve the sandbox's files, one for each user for whom
// that was requested. They are separate from PID 1, so that they can open only what their
// user can, and never the memory and descriptors of PID 1.
type fileServers struct {
	reaper   *reaper
	callBack func(token []byte) (relay.Conn, error)

	mu    sync.Mutex
	home  string // of root
	all   []*fileServer
	ended bool // the sandbox ends, so no process may start
}

// fileServer is one process.
type fileServer struct {
	helper        // its connection passes connections to the process
	user   string // as identity.String returns it
	used   time.Time
}

func newFileServers(r *reaper, callBack func(token []byte) (relay.Conn, error)) *fileServers {
	return &fileServers{reaper: r, callBack: callBack, home: "/root"}
}

// setHome sets root's home folder.
func (fs *fileServers) setHome(home string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if home != "" {
		fs.home = home
	}
}

// open makes a connection to the supervisor and passes it to the process of its user. If it
// cannot, it passes the reason to failed.
func (fs *fileServers) open(o lifeline.OpenFiles, failed func(lifeline.DialFailed)) {
	user, err := lookUpUser("/", o.User)
	if err != nil {
		failed(lifeline.DialFailed{ID: o.ID, Refused: true, Error: errorText(err)})
		return
	}
	conn, err := fs.callBack(o.Token)
	if err != nil {
		failed(lifeline.DialFailed{ID: o.ID, Error: fmt.Sprintf("connecting to the supervisor: %v", err)})
		return
	}
	defer conn.Close()
	if err := fs.pass(conn.(*net.TCPConn), user); err != nil {
		// The supervisor has the connection already, so the reason is sent over it.
		_ = files.Refuse(conn, err)
	}
}

// pass passes a connection to the process of a user. A process that was killed is replaced, and
// one that takes no more connections, so that init never waits for a process that the agent stopped.
func (fs *fileServers) pass(conn *net.TCPConn, user *identity) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for range 2 {
		server, findErr := fs.find(user)
		if findErr != nil {
			return findErr
		}
		_ = server.conn.SetWriteDeadline(time.Now().Add(helperTime))
		controlErr := raw.Control(func(fd uintptr) {
			_, _, err = server.conn.WriteMsgUnix([]byte{0}, unix.UnixRights(int(fd)), nil)
		})
		if err = errors.Join(err, controlErr); err == nil {
			server.used = time.Now()
			return nil
		}
		fs.stop(server)
	}
	return fmt.Errorf("the process for files does not run: %w", err)
}

// find returns the process of a user, and starts it if there is none. fs.mu is held.
func (fs *fileServers) find(user *identity) (*fileServer, error) {
	if fs.ended {
		return nil, errors.New("the sandbox ends")
	}
	name := user.String()
	for _, server := range fs.all {
		if server.user == name {
			return server, nil
		}
	}
	if len(fs.all) >= maxFileServers {
		fs.stop(slices.MinFunc(fs.all, func(a, b *fileServer) int { return a.used.Compare(b.used) }))
	}
	server, err := fs.start(user)
	if err == nil {
		fs.all = append(fs.all, server)
	}
	return server, err
}

// start starts a process. fs.mu is held.
func (fs *fileServers) start(user *identity) (*fileServer, error) {
	home := fs.home
	if user != nil {
		home = user.home
	}
	if home == "" {
		home = "/"
	}
	server := &fileServer{user: user.String()}
	var err error
	server.helper, err = startHelper(fs.reaper, unix.SOCK_SEQPACKET, []string{}, filesCommand, server.user, home)
	if err != nil {
		return nil, fmt.Errorf("starting the process for files: %w", err)
	}
	return server, nil
}

// stop ends a process. fs.mu is held.
func (fs *fileServers) stop(server *fileServer) {
	server.conn.Close()
	select {
	case <-server.status: // it has ended, so its ID may belong to another process
	default:
		_ = unix.Kill(server.pid, unix.SIGKILL)
		select {
		case <-server.status:
		case <-time.After(killLimit):
		}
	}
	fs.all = slices.DeleteFunc(fs.all, func(other *fileServer) bool { return other == server })
}

// end ends all processes, and starts no more.
func (fs *fileServers) end() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.ended = true
	for _, server := range slices.Clone(fs.all) {
		fs.stop(server)
	}
}

// serveFiles serves files over connections that PID 1 sends over its socket, as the user
// that it becomes. Its args are USER HOME, with USER as identity.String returns it. It
// returns the exit code once PID 1 closes that socket.
func serveFiles(args []string) int {
	if len(args) != 2 || becomeUser(args[0]) != nil {
		return 125
	}
	// Another process of the same user must not read this one's memory or descriptors.
	if unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil {
		return 125
	}
	unix.Umask(0)
	given, err := net.FileConn(os.NewFile(helperSocket, "init"))
	if err != nil {
		return 125
	}
	socket, ok := given.(*net.UnixConn)
	if !ok {
		return 125
	}
	server := &fileserver.Server{Home: args[1], Names: readNames}
	for {
		conn, err := receiveConn(socket)
		if err != nil {
			return 0
		}
		if conn != nil {
			go server.Serve(conn)
		}
	}
}

// receiveConn receives one connection; nil if the message has none.
func receiveConn(socket *net.UnixConn) (net.Conn, error) {
	data, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := socket.ReadMsgUnix(data, oob)
	if err != nil || n == 0 {
		return nil, errors.Join(err, errors.New("the socket is closed"))
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return nil, nil //nolint:nilnil // the descriptor was lost, because too many are open
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, nil //nolint:nilnil // as above
	}
	unix.CloseOnExec(fds[0])
	file := os.NewFile(uintptr(fds[0]), "connection")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, nil //nolint:nilnil // the supervisor sees it close
	}
	return conn, nil
}

// readNames returns the names of users and groups from the files of the sandbox.
func readNames() fileserver.Names {
	return fileserver.Names{Users: readIDs("etc/passwd"), Groups: readIDs("etc/group")}
}

// readIDs returns the names in a file such as /etc/passwd by their numbers.
func readIDs(name string) map[uint32]string {
	entries, _ := userEntries("/", name, 3)
	names := make(map[uint32]string, len(entries))
	for _, fields := range slices.Backward(entries) { // the first line with a number counts
		if id, err := strconv.ParseUint(fields[2], 10, 32); err == nil {
			names[uint32(id)] = fields[0]
		}
	}
	return names
}
