from inkube.apiserver.watching import messages as messages
