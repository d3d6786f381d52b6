// Follows config maps with an informer while it writes them; prints what the informer saw.
import * as k8s from '@kubernetes/client-node';

const [, , kubeconfig, namespace] = process.argv;
const config = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(k8s.CoreV1Api);
const path = `/api/v1/namespaces/${namespace}/configmaps`;
const informer = k8s.makeInformer(config, path, () => core.listNamespacedConfigMap({ namespace }));

const seen = [];
const gone = new Promise((resolve) => {
  for (const what of ['add', 'update', 'delete']) {
    informer.on(what, (object) => {
      if (object.metadata.name !== 'n') return;
      seen.push(what);
      if (what === 'delete') resolve();
    });
  }
});
await informer.start();
await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'n' }, data: { a: '1' } } });
const patch = [{ op: 'replace', path: '/data/a', value: '2' }];
await core.patchNamespacedConfigMap({ name: 'n', namespace, body: patch });
await core.deleteNamespacedConfigMap({ name: 'n', namespace });
await gone;
console.log(seen.join(' '));
process.exit(0);
