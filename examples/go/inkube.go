// Package inkube starts a Kubernetes API server for a test. It needs the inkube program only: the
// one in the environment variable INKUBE, or "inkube" in PATH.
//
//	func TestOperator(t *testing.T) {
//		server := inkube.Start(t, "--definitions", "crd.yaml")
//		// server.URL, server.Kubeconfig
//	}
package inkube

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a running server. It stops at the end of the test that started it.
type Server struct {
	URL        string // for example http://127.0.0.1:40001
	Kubeconfig string // the path of a kubeconfig file

	command *exec.Cmd
	log     *tail
	once    sync.Once
}

// Program returns the path of the inkube program.
func Program() (string, error) {
	if path := os.Getenv("INKUBE"); path != "" {
		return path, nil
	}
	return exec.LookPath("inkube")
}

// Start starts a server in memory and returns when it is ready. arguments are options of
// "inkube serve". A failed test shows the end of the server's log.
func Start(t testing.TB, arguments ...string) *Server {
	t.Helper()
	program, err := Program()
	if err != nil {
		t.Skip("inkube is not installed: set INKUBE, or add it to PATH")
	}
	server, err := start(program, t.TempDir(), arguments)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Stop()
		if t.Failed() {
			t.Logf("log of inkube:\n%s", server.log)
		}
	})
	return server
}

func start(program, folder string, arguments []string) (*Server, error) {
	kubeconfig := filepath.Join(folder, "kubeconfig")
	given := []string{"serve", "--port", "0", "--kubeconfig", kubeconfig, "-v"}
	if !contains(arguments, "--data", "--database", "--snapshot", "--replay") {
		given = append(given, "--in-memory")
	}
	log := &tail{}
	command := exec.Command(program, append(given, arguments...)...)
	command.Dir = "."
	command.Stderr = log
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	server := &Server{Kubeconfig: kubeconfig, command: command, log: log}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if url, found := strings.CutPrefix(lines.Text(), "inkube serves on "); found {
			server.URL = url
			go func() { // the server must not block on a full pipe
				for lines.Scan() {
				}
			}()
			return server, nil
		}
	}
	_ = command.Wait()
	return nil, fmt.Errorf("inkube did not start:\n%s", log)
}

// Stop stops the server. A second call does nothing.
func (s *Server) Stop() {
	s.once.Do(func() {
		_ = s.command.Process.Signal(os.Interrupt)
		ended := make(chan struct{})
		go func() { _ = s.command.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = s.command.Process.Kill()
			<-ended
		}
	})
}

func contains(arguments []string, names ...string) bool {
	for _, argument := range arguments {
		for _, name := range names {
			if argument == name || strings.HasPrefix(argument, name+"=") {
				return true
			}
		}
	}
	return false
}

// tail keeps the last 64 KiB of a log.
type tail struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (t *tail) Write(piece []byte) (int, error) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.text.Write(piece)
	if more := t.text.Len() - 1<<16; more > 0 {
		t.text.Next(more)
	}
	return len(piece), nil
}

func (t *tail) String() string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.text.String()
}
