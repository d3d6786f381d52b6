package inkube_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"inkube.example/inkube"
)

const boats = "/apis/example.com/v1/namespaces/default/boats"

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestAKindIsServedWithItsRule(t *testing.T) {
	server := inkube.Start(t, "--definitions", "testdata/definition.yaml")
	body := `{"metadata": {"name": "argo"}, "spec": {"size": 5, "crew": 4}}`
	kind := `{"apiVersion": "example.com/v1", "kind": "Boat", ` + body[1:]
	if code, text := post(t, server.URL+boats, kind); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	crowded := strings.ReplaceAll(strings.ReplaceAll(kind, `"crew": 4`, `"crew": 9`), "argo", "b")
	code, text := post(t, server.URL+boats, crowded)
	var status struct{ Message string }
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		t.Fatal(err)
	}
	if code != http.StatusUnprocessableEntity || !strings.Contains(status.Message, "more crew than places") {
		t.Fatal(code, text)
	}
}

func TestServersAreIndependent(t *testing.T) {
	first, second := inkube.Start(t), inkube.Start(t)
	if first.URL == second.URL {
		t.Fatal("two servers share an address")
	}
	body := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`
	maps := "/api/v1/namespaces/default/configmaps"
	if code, text := post(t, first.URL+maps, body); code != http.StatusCreated {
		t.Fatal(code, text)
	}
	response, err := http.Get(second.URL + maps + "/a")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Fatal(response.StatusCode)
	}
}

func TestTheKubeconfigNamesTheServer(t *testing.T) {
	server := inkube.Start(t)
	text, err := os.ReadFile(server.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), server.URL) {
		t.Fatal(string(text))
	}
}

func TestAStoppedServerIsGone(t *testing.T) {
	server := inkube.Start(t)
	server.Stop()
	server.Stop()
	if response, err := http.Get(server.URL + "/readyz"); err == nil {
		response.Body.Close()
		t.Fatal("it still responds")
	}
}
