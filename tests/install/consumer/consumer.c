/* The smallest user of an installed g4, in C and in C++. */
#include <g4/g4.h>
#include <stdio.h>

int main(void) {
  g4_session* session = NULL;
  const g4_status status = g4_session_open(&session, "no such file", NULL);
  printf("g4 %s: %s\n", g4_version(), g4_status_phrase(status));
  return status == G4_ERR_IO ? 0 : 1;
}
