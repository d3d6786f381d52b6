/* A right controller as a compiled program: every tenth of a second, it compares each boat with its
 * ConfigMap. It needs the C library only, and understands just the answers that it asks for. */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char host[256], port[16], answer[1 << 20];

/* Send a request, and keep the whole answer. Returns its code, or 0. */
static int ask(const char *method, const char *path, const char *body) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
  char request[8192];
  size_t size = 0;
  ssize_t read_bytes;
  int code = 0;
  answer[0] = 0;
  if (getaddrinfo(host, port, &hints, &found)) return 0;
  int wire = socket(found->ai_family, found->ai_socktype, 0);
  if (wire >= 0 && !connect(wire, found->ai_addr, found->ai_addrlen)) {
    int length = snprintf(request, sizeof request,
        "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nUser-Agent: right/1\r\n"
        "Content-Type: application/apply-patch+yaml\r\nContent-Length: %zu\r\n\r\n%s",
        method, path, host, strlen(body), body);
    if (write(wire, request, length) == length)
      while (size < sizeof answer - 1 && (read_bytes = read(wire, answer + size, sizeof answer - 1 - size)) > 0)
        size += read_bytes;
    answer[size] = 0;
    sscanf(answer, "HTTP/1.1 %d", &code);
  }
  if (wire >= 0) close(wire);
  freeaddrinfo(found);
  return code;
}

/* Copy the text of a member, such as "uid":". */
static int member(const char *text, const char *name, char *value, size_t size) {
  const char *at = strstr(text, name);
  if (!at) return 0;
  at += strlen(name);
  size_t length = strcspn(at, "\",}");
  if (length >= size) return 0;
  memcpy(value, at, length);
  value[length] = 0;
  return 1;
}

static void reconcile(const char *boat) {
  char name[64], uid[64], sails[16], there[64], has[16], path[256], body[1024];
  if (strstr(boat, "\"deletionTimestamp\"")) return;
  if (!member(boat, "\"name\":\"", name, sizeof name)) return;
  if (!member(boat, "\"uid\":\"", uid, sizeof uid)) return;
  if (!member(boat, "\"sails\":", sails, sizeof sails)) return;
  snprintf(path, sizeof path, "/api/v1/namespaces/default/configmaps/%s-hold", name);
  int code = ask("GET", path, "");
  char *owners = strstr(answer, "\"ownerReferences\"");
  int is_ours = owners && member(owners, "\"uid\":\"", there, sizeof there) && !strcmp(there, uid);
  if (code == 200 && is_ours && member(answer, "\"sails\":\"", has, sizeof has) && !strcmp(has, sails)) return;
  if (code != 200 && code != 404) return;
  if (code == 200 && !is_ours && ask("DELETE", path, "") != 200) return;
  snprintf(body, sizeof body,
      "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s-hold\",\"ownerReferences\":"
      "[{\"apiVersion\":\"example.com/v1\",\"kind\":\"Boat\",\"name\":\"%s\",\"uid\":\"%s\"}]},"
      "\"data\":{\"sails\":\"%s\"}}", name, name, uid, sails);
  strcat(path, "?fieldManager=right&force=true");
  ask("PATCH", path, body);
}

int main(void) {
  static char config[1 << 16], boats[1 << 20];
  FILE *file = fopen(getenv("KUBECONFIG"), "r");
  if (!file || !fread(config, 1, sizeof config - 1, file)) return 2;
  fclose(file);
  char *server = strstr(config, "server: http://");
  if (!server || sscanf(server, "server: http://%255[^:]:%15[0-9]", host, port) != 2) return 2;
  for (;; usleep(100000)) {
    if (ask("GET", "/apis/example.com/v1/namespaces/default/boats", "") != 200) continue;
    strcpy(boats, answer);
    char *boat = strstr(boats, "\"kind\":\"Boat\"");
    while (boat) {
      char *next = strstr(boat + 1, "\"kind\":\"Boat\"");
      if (next) next[-1] = 0;
      reconcile(boat);
      boat = next;
    }
  }
}
