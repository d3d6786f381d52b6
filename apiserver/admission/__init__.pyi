from inkube.apiserver.admission import names as names
from inkube.apiserver.admission.accounts import ServiceAccounts as ServiceAccounts
from inkube.apiserver.admission.certificates import CertificateApproval as CertificateApproval
from inkube.apiserver.admission.certificates import CertificateSigning as CertificateSigning
from inkube.apiserver.admission.certificates import (
    CertificateSubjectRestriction as CertificateSubjectRestriction,
)
from inkube.apiserver.admission.createrights import CreateRights as CreateRights
from inkube.apiserver.admission.declaredkinds import DeclaredKinds as DeclaredKinds
from inkube.apiserver.admission.defaultclasses import ClaimResize as ClaimResize
from inkube.apiserver.admission.defaultclasses import DefaultIngressClass as DefaultIngressClass
from inkube.apiserver.admission.defaultclasses import DefaultStorageClass as DefaultStorageClass
from inkube.apiserver.admission.defaultclasses import StorageProtection as StorageProtection
from inkube.apiserver.admission.defaultclasses import TaintNewNodes as TaintNewNodes
from inkube.apiserver.admission.escalation import Escalation as Escalation
from inkube.apiserver.admission.lifecycle import NamespaceLifecycle as NamespaceLifecycle
from inkube.apiserver.admission.limits import LimitRanger as LimitRanger
from inkube.apiserver.admission.pods import DefaultTolerationSeconds as DefaultTolerationSeconds
from inkube.apiserver.admission.pods import PodTopologyLabels as PodTopologyLabels
from inkube.apiserver.admission.pods import Priority as Priority
from inkube.apiserver.admission.pods import RuntimeClasses as RuntimeClasses
from inkube.apiserver.admission.podsecurity import PodSecurity as PodSecurity
from inkube.apiserver.admission.quotas import QuotaAdmission as QuotaAdmission
